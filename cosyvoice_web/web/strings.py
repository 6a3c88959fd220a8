"""Every word that the page shows, in one table: key -> (English, Chinese).

Templates and the page's modules name a key and never hold words themselves. `{name}` is a place for a value.
To add a language, add its tag to `LANGUAGES` and a column to every row; `tests/web/test_strings.py` finds what is
missing.
"""

from collections.abc import Mapping

from werkzeug.datastructures import LanguageAccept

LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}
"""Interface languages: tag and own name. The order is that of the columns; the first serves whoever reads none."""

STRINGS: Mapping[str, tuple[str, str]] = {
    "page.title": ("CosyVoice Web", "CosyVoice Web"),
    "page.tagline": ("Text in, speech out. Made on this server.", "输入文字，听到语音，全部在本服务器上合成。"),
    "page.language": ("Interface language", "界面语言"),
    "page.note": (
        "The voices are synthetic. Say so when you share a recording.",
        "语音由计算机合成，分享录音时请注明。",
    ),
    "page.no_script": (
        "JavaScript is off: Speak sends the form and downloads the audio file.",
        "JavaScript 未启用：点击“朗读”将提交表单并下载音频文件。",
    ),
    "state.checking": ("Connecting…", "正在连接…"),
    "state.loading": ("Loading…", "加载中…"),
    "state.warming": ("Warming…", "预热中…"),
    "state.ready": ("Ready", "就绪"),
    "state.failed": ("Failed", "加载失败"),
    "state.degraded": ("Stuck", "暂停服务"),
    "state.closing": ("Restarting…", "重启中…"),
    "state.unreachable": ("Offline", "无法连接"),
    "state.failed.why": (
        "The voices could not be loaded: {reason}",
        "语音加载失败：{reason}",
    ),
    "state.degraded.why": (
        "The server is held up by earlier work: {reason}",
        "服务器被之前的任务占用：{reason}",
    ),
    "state.loading.why": (
        "The voices are being loaded. You can type already, Speak wakes up by itself.",
        "语音正在加载。您可以先输入文字，完成后即可朗读。",
    ),
    "state.unreachable.why": (
        "The server does not answer. Trying again by itself.",
        "服务器没有响应，正在自动重试。",
    ),
    "text.label": ("Text to speak", "要朗读的文字"),
    "text.placeholder": ("Type or paste something to hear…", "输入或粘贴想听的文字…"),
    "text.count": ("{count} of {limit} characters", "{count} / {limit} 字"),
    "text.over": ("{over} characters over the limit of {limit}", "超出 {limit} 字上限 {over} 字"),
    "examples.label": ("Try", "试试"),
    "examples.zh": ("中文", "中文"),
    "examples.en": ("English", "English"),
    "examples.ja": ("日本語", "日本語"),
    "examples.mixed": ("Mixed", "混合"),
    "voice.label": ("Voice", "声音"),
    "voice.automatic": ("Automatic: fits the text", "自动：随文字选择"),
    "voice.automatic.named": ("Automatic: {voice}", "自动：{voice}"),
    "voice.option": ("{name} · {gender}", "{name} · {gender}"),
    "voice.wait": ("The voices appear here when loaded.", "加载完成后在此选择声音。"),
    "voice.none": ("This model speaks with recordings only.", "此模型只能用录音作为声音。"),
    "voice.count": ("{count} voices: {languages}", "{count} 个声音：{languages}"),
    "gender.female": ("female", "女声"),
    "gender.male": ("male", "男声"),
    "style.label": ("Style", "风格"),
    "style.placeholder": ("Calm and slow, like a bedtime story", "语气平静，语速缓慢，像讲睡前故事"),
    "recording.title": ("Use a recording as the voice", "用录音作为声音"),
    "recording.file": ("Recording", "录音"),
    "recording.file.hint": ("3 to 10 seconds of one clear voice.", "3 到 10 秒，一个人清晰地说话。"),
    "recording.text": ("What is said in it", "录音中说的话"),
    "recording.text.hint": (
        "Word for word. Leave it empty if the recording is in another language than the text.",
        "请逐字填写。如果录音与要朗读的文字语言不同，请留空。",
    ),
    "recording.consent": ("The person who is heard agrees to this use.", "录音中的说话人同意这样使用。"),
    "recording.consent.missing": (
        "Confirm first that the person in the recording agrees.",
        "请先确认录音中的说话人同意。",
    ),
    "recording.remove": ("Remove", "移除"),
    "recording.needed": (
        "This model has no voices of its own: choose a recording first.",
        "此模型没有内置声音，请先选择录音。",
    ),
    "recording.voice": ("Your recording", "您的录音"),
    "speed.label": ("Speed", "语速"),
    "speed.value": ("{speed}×", "{speed} 倍"),
    "speed.slow": ("slower", "慢"),
    "speed.fast": ("faster", "快"),
    "format.label": ("File format", "文件格式"),
    "format.wav": ("Uncompressed", "无压缩"),
    "format.flac": ("Lossless", "无损"),
    "format.ogg": ("Small", "小文件"),
    "format.mp3": ("Plays anywhere", "通用"),
    "speak.action": ("Speak", "朗读"),
    "speak.shortcut": ("or press Ctrl + Enter", "或按 Ctrl + Enter"),
    "speak.shortcut.mac": ("or press ⌘ + Enter", "或按 ⌘ + Enter"),
    "speak.busy": ("Speaking…", "合成中…"),
    "speak.wait": ("Again in {seconds} s", "{seconds} 秒后重试"),
    "speak.again": ("You can speak again.", "可以继续朗读了。"),
    "progress.label": ("Synthesis progress", "合成进度"),
    "progress.title": ("Making your speech", "正在合成语音"),
    "progress.elapsed": ("{elapsed} s", "{elapsed} 秒"),
    "progress.expected": ("{elapsed} s of about {expected} s", "已用 {elapsed} 秒，预计 {expected} 秒"),
    "progress.late": (
        "{elapsed} s, longer than the expected {expected} s: others may be ahead of you",
        "已用 {elapsed} 秒，超出预计的 {expected} 秒：可能有人排在前面",
    ),
    "progress.spoken": ("Synthesis has begun.", "开始合成。"),
    "progress.cancel": ("Cancel", "取消"),
    "progress.cancelled": ("Cancelled. Your text is still here.", "已取消，文字仍在。"),
    "answer.empty": ("Your speech appears here", "语音将显示在这里"),
    "answer.empty.hint": (
        "Type a text, or take an example, then press Speak.",
        "输入文字或选择示例，然后点击“朗读”。",
    ),
    "answer.label": ("Your speech", "您的语音"),
    "answer.done": ("Done: {length} s of speech by {voice}.", "完成：{voice}，{length} 秒语音。"),
    "answer.play": ("Play", "播放"),
    "answer.pause": ("Pause", "暂停"),
    "answer.position": ("Position", "播放位置"),
    "answer.position.value": ("{at} of {length} seconds", "第 {at} 秒，共 {length} 秒"),
    "answer.download": ("Download {format}", "下载 {format}"),
    "answer.unplayable": (
        "This browser cannot play {format}. Download the file, or choose another format.",
        "此浏览器无法播放 {format}，请下载文件或更换格式。",
    ),
    "facts.voice": ("Voice", "声音"),
    "facts.length": ("Length", "时长"),
    "facts.made": ("Made in", "合成用时"),
    "facts.factor": ("Real-time factor", "实时率"),
    "facts.factor.help": (
        "Seconds of work per second of speech; below 1 is faster than real time",
        "每秒语音所需的合成时间，小于 1 即快于实时",
    ),
    "facts.seed": ("Seed", "随机种子"),
    "facts.seconds": ("{seconds} s", "{seconds} 秒"),
    "error.reference": ("Reference for the operator: {id}", "供管理员查询的编号：{id}"),
    "error.empty": ("Type a text first, then press Speak.", "请先输入文字，再点击“朗读”。"),
    "error.network": (
        "The server cannot be reached. Check your connection, then press Speak again.",
        "无法连接服务器，请检查网络后重试。",
    ),
    "error.unknown": ("The server answered with an error: {message}", "服务器返回错误：{message}"),
    "error.invalid_request": ("The server did not accept this: {message}", "服务器未接受此请求：{message}"),
    "error.nothing_to_speak": (
        "There is nothing to speak in this text: add a word, a letter or a digit.",
        "这段文字没有可以朗读的内容，请至少输入一个字、字母或数字。",
    ),
    "error.text_too_long": (
        "The text is too long: {limit} characters at most. Speak it in parts.",
        "文字过长，最多 {limit} 字，请分段朗读。",
    ),
    "error.body_too_large": (
        "The recording is too large: {megabytes} MB at most.",
        "录音过大，最多 {megabytes} MB。",
    ),
    "error.unknown_voice": (
        "This voice is no longer on the server. Choose another one.",
        "服务器上已没有这个声音，请另选一个。",
    ),
    "error.unsupported_language": (
        "The server has no voice for this language. {message}",
        "服务器没有这种语言的声音。{message}",
    ),
    "error.unsupported_format": (
        "The server does not offer this file format. Choose another one.",
        "服务器不提供此文件格式，请另选一种。",
    ),
    "error.rate_limited": (
        "You have reached the limit of requests. You can speak again in {seconds} s.",
        "请求次数已达上限，{seconds} 秒后可继续。",
    ),
    "error.busy": (
        "Many people are waiting for speech right now. Try again in {seconds} s.",
        "当前排队人数较多，请在 {seconds} 秒后重试。",
    ),
    "error.deadline_exceeded": (
        "The speech did not finish in time. Try a shorter text, or try again in {seconds} s.",
        "合成超时。请缩短文字，或在 {seconds} 秒后重试。",
    ),
    "error.not_ready": (
        "The voices are still being loaded. Speak wakes up by itself.",
        "语音仍在加载，完成后即可朗读。",
    ),
    "error.engine_failed": ("The server cannot speak. {message}", "服务器无法合成语音。{message}"),
    "error.shutting_down": (
        "The server is restarting. Speak wakes up by itself.",
        "服务器正在重启，完成后即可朗读。",
    ),
    "error.synthesis_failed": (
        "The speech could not be made. Change the wording a little and try again.",
        "合成失败，请稍微修改文字后重试。",
    ),
    "error.no_speech_produced": (
        "No sound came out for this text. Change the wording a little and try again.",
        "这段文字没有合成出声音，请稍微修改后重试。",
    ),
    "error.token_budget_spent": (
        "The voice did not find the end of a sentence. Split the sentence and try again.",
        "某个句子合成时未能正常结束，请拆分句子后重试。",
    ),
    "error.non_finite_audio": (
        "The sound came out broken and was not sent. Try again.",
        "合成的声音已损坏，未发送，请重试。",
    ),
}

EXAMPLES: Mapping[str, tuple[str, str]] = {
    "zh": ("zh", "清晨的阳光洒在湖面上，微风吹过，泛起层层波光。今天是个散步的好日子。"),
    "en": ("en", "Good morning! The train to the coast leaves at 9:30, so there is still time for a cup of coffee."),
    "ja": ("ja", "おはようございます。今日は天気がいいので、公園を散歩しましょう。"),
    "mixed": ("zh", "你好，欢迎使用。Hello, and welcome. こんにちは。"),
}
"""Texts to try: name (label `examples.<name>`) -> (language tag, text)."""


def strings_in(language: str) -> dict[str, str]:
    """All strings of one interface language, key -> words.

    Raises:
        KeyError: `language` is not in `LANGUAGES`.
    """
    column = {tag: index for index, tag in enumerate(LANGUAGES)}[language]
    return {key: words[column] for key, words in STRINGS.items()}


def choose_language(wanted: str | None, accepted: LanguageAccept) -> str:
    """The interface language: the one asked for by name, else the browser's best, else the first.

    A name that we do not have ("fr", "<script>") counts as none; regions are ignored ("zh-TW" is "zh").
    """
    for tag in (wanted or "", *accepted.values()):  # the browser's tags come best first
        primary = tag.lower().replace("_", "-").partition("-")[0]
        if primary in LANGUAGES:
            return primary
    return next(iter(LANGUAGES))
