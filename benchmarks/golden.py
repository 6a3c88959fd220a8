"""Sentences that are read back by a recogniser, and the error rates that must not be passed."""

GOLDEN = {
    "zh": (
        "今天天气很好，我们一起去公园散步吧。",
        "人工智能正在改变我们的工作和生活方式。",
        "请在下午三点之前把文件发送到我的邮箱。",
        "这家餐厅的菜味道不错，价格也很便宜。",
        "他花了两年时间学习中文，现在说得非常流利。",
        "火车将于早上八点二十分从北京南站出发，请各位旅客提前检票。",
    ),
    "en": (
        "The quick brown fox jumps over the lazy dog near the river bank.",
        "Please send me the report before three o'clock this afternoon.",
        "Artificial intelligence is changing the way we live and work.",
        "She spent two years learning Chinese, and now she speaks it fluently.",
        "The train leaves from the south station at eight twenty in the morning.",
        "I would like a cup of coffee with milk, but no sugar, thank you.",
    ),
    "ja": (
        "今日は天気がいいので、公園を散歩しましょう。",
        "人工知能は私たちの仕事と生活を変えています。",
        "午後三時までに書類をメールで送ってください。",
        "このレストランの料理はおいしくて、値段も安いです。",
        "彼女は二年間日本語を勉強して、とても上手になりました。",
        "電車は朝八時二十分に東京駅を出発します。",
    ),
    "mix": (
        "我昨天用 Python 写了一个 Flask 应用。",
        "请打开 Settings，然后点击 Update 按钮。",
        "这个 API 的 response 是 JSON 格式。",
        "我们公司使用 Microsoft Teams 开会。",
        "周末我想去 Starbucks 喝 coffee。",
        "他的 iPhone 没电了，Wi-Fi 也断了。",
    ),
}
VOICES = {
    "zh": ("zf_xiaoxiao", "zm_yunjian"),
    "en": ("af_heart", "am_michael"),
    "ja": ("jf_alpha", "jm_kumo"),
    "mix": ("zf_xiaoxiao", "zm_yunjian"),
}
# character error rate for zh, ja and mix, word error rate for en
LIMIT = {"zh": 0.12, "en": 0.08, "ja": 0.12, "mix": 0.20}

TEN_SECONDS = {
    "zh": "春天来了，公园里的花都开了，孩子们在草地上跑来跑去，老人们坐在长椅上晒太阳，大家都觉得今天的天气特别舒服。",
    "en": "Spring has come to the park, the flowers are open, children run across the grass, old people sit in the sun "
    "on the long benches, and everybody agrees that the weather today is lovely.",
    "ja": "春が来て、公園の花が咲きました。"
    "子どもたちは芝生の上を走り回り、お年寄りはベンチに座って日なたぼっこをしています。",
}
