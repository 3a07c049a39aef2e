"""A day of a baker in nine languages: what she sees, promises and hears, and how it is told a day later."""

from __future__ import annotations

from typing import NamedTuple

from cogitate.memory.profile import Profile


class WrittenWorld(NamedTuple):
    """A day of the one called as the profile says, and of her friend."""

    profile: Profile
    friend: str
    bakery: str
    grave: str  # seen, and to be seen to
    ordinary: str  # seen
    promise: str  # given by herself, for tomorrow at 15:00
    invitation: str  # by her friend, for tomorrow at 10:00
    courtesy: str
    day: str  # what stands for "tomorrow" when it is told later
    tomorrow: str  # what must not be told then
    today: str  # what stands for it on that day


WRITTEN_WORLDS = {
    "zh": WrittenWorld(
        Profile(name="王芳", occupation="面包师", home="home", work="bakery"),
        "李伟",
        "阳光面包店",
        "河上的老桥昨天夜里烧毁了。",
        "路边有一只麻雀。",
        "我答应你明天下午三点把烤箱修好。",
        "我们明天上午十点在中心广场办一场朗诵会。",
        "谢谢你！",
        "第2天",
        "明天",
        "今天",
    ),
    "ja": WrittenWorld(
        Profile(name="佐藤花子", occupation="パン職人", home="home", work="bakery"),
        "鈴木健",
        "ひかりベーカリー",
        "川の古い橋が昨夜全焼した。",
        "道に雀がいる。",
        "明日の午後三時にオーブンを直すと約束します。",
        "明日の午前十時に広場で朗読会を開きます。",
        "ありがとう！",
        "2日目",
        "明日",
        "今日",
    ),
    "es": WrittenWorld(
        Profile(name="Lucía Ramos", occupation="panadera", home="home", work="bakery"),
        "Mateo Vega",
        "Panadería del Sol",
        "El viejo puente sobre el río se quemó anoche.",
        "Hay un gorrión en el camino.",
        "Te prometo que mañana a las tres de la tarde arreglo el horno.",
        "Mañana a las 10:00 hay un recital en la plaza con los niños.",
        "¡Muchas gracias!",
        "día 2",
        "mañana",
        "hoy",
    ),
    "fr": WrittenWorld(
        Profile(name="Claire Moreau", occupation="boulangère", home="home", work="bakery"),
        "Louis Petit",
        "Boulangerie du Soleil",
        "Le vieux pont sur la rivière a brûlé hier soir.",
        "Il y a un moineau sur le chemin.",
        "Je te promets de réparer le four demain à 15 heures.",
        "Demain à 10 h, les enfants donnent un récital sur la place.",
        "Merci beaucoup !",
        "jour 2",
        "demain",
        "aujourd'hui",
    ),
    "de": WrittenWorld(
        Profile(name="Anke Müller", occupation="Bäckerin", home="home", work="bakery"),
        "Bernd Schmidt",
        "Bäckerei Sonnenschein",
        "Die alte Brücke über den Fluss ist gestern Abend abgebrannt.",
        "Am Straßenrand sitzt ein Spatz.",
        "Ich verspreche dir, dass ich den Ofen morgen um 15 Uhr repariere.",
        "Die Kinder geben morgen um 10 Uhr auf dem Marktplatz ein Konzert.",
        "Vielen Dank!",
        "Tag 2",
        "morgen",
        "heute",
    ),
    "pt": WrittenWorld(
        Profile(name="Helena Costa", occupation="padeira", home="home", work="bakery"),
        "Rui Lopes",
        "Padaria do Sol",
        "A velha ponte sobre o rio pegou fogo ontem à noite.",
        "Há um pardal no caminho.",
        "Prometo que amanhã às três da tarde conserto o forno.",
        "Amanhã às 10:00 as crianças dão um recital na praça.",
        "Muito obrigada!",
        "dia 2",
        "amanhã",
        "hoje",
    ),
    "ru": WrittenWorld(
        Profile(name="Анна Петрова", occupation="пекарь", home="home", work="bakery"),
        "Борис Кузнецов",
        "Пекарня Солнце",
        "Старый мост через реку сгорел вчера ночью.",
        "На дороге сидит воробей.",
        "Обещаю, что завтра в 3 часа дня починю печь.",
        "Завтра в 10:00 на площади дети дают концерт.",
        "Большое спасибо!",
        "день 2",
        "завтра",
        "сегодня",
    ),
    "ar": WrittenWorld(
        Profile(name="مريم", occupation="خبازة", home="home", work="bakery"),
        "أحمد",
        "مخبز الشمس",
        "احترق الجسر القديم على النهر أمس.",
        "عصفور على الطريق.",
        "أعدك أن أصلح الفرن غدا الساعة الثالثة عصرا.",
        "يقيم الأطفال حفلا في الساحة غدا الساعة 10:00 صباحا.",
        "شكرا جزيلا!",
        "اليوم 2",
        "غدا",
        "اليوم",
    ),
    "ko": WrittenWorld(
        Profile(name="김하나", occupation="제빵사", home="home", work="bakery"),
        "이준호",
        "햇살 빵집",
        "강의 낡은 다리가 어제 불에 탔다.",
        "길가에 참새가 있다.",
        "내일 오후 세 시에 오븐을 고치겠다고 약속합니다.",
        "내일 오전 10시에 광장에서 낭독회를 엽니다.",
        "정말 고마워요!",
        "2일째",
        "내일",
        "오늘",
    ),
}
