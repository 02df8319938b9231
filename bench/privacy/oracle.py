"""Sentences with personal values and without, by libraries that know nothing of the detectors.

Usage: oracle.py SEED COUNT. One JSON object a line: language, kind (or "harmless: SORT"), form, utterances, spans of the
value, and the value as somebody would write it. num2words says numbers, text2num writes them as a recogniser does, and
schwifty makes accounts. All values are invented.
"""
import json
import random
import re
import sys

from num2words import num2words
from schwifty import IBAN
from text_to_num import alpha2digit

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
pick = rng.choice


def chance(share):
    return rng.random() < share


def digits(length):
    return ''.join(str(rng.randrange(10)) for _ in range(length))


def say(number, lang):
    return num2words(number, lang='fr' if lang == 'fr' else 'en').replace(',', '')


def zero(lang):
    return 'zéro' if lang == 'fr' else pick(['zero', 'oh', 'oh'])


def chunks(text, sizes):
    parts = []
    for size in sizes:
        parts.append(text[:size])
        text = text[size:]
    return [part for part in [*parts, text] if part]


# How digits are said: each takes a group of digits.

def say_digits(group, lang):
    if lang != 'fr' or chance(0.06):
        return say_repeats(group, lang)
    return ' '.join(say(int(d), lang) if d != '0' else zero(lang) for d in group)


def say_repeats(group, lang):
    nought = zero(lang)
    name = lambda d: nought if d == '0' else say(int(d), lang)
    said, at = [], 0
    while at < len(group):
        run = len(re.match(r'(.)\1*', group[at:]).group())
        run = min(run, 3 if lang != 'fr' else 2)
        if run > 1 and chance(0.6):
            said.append(f"{ {2: 'double', 3: 'triple'}[run]} {name(group[at])}")
        else:
            run = 1
            said.append(name(group[at]))
        at += run
    return ' '.join(said)


def say_whole(group, lang):
    """A group as one number, behind the zeros before it."""
    rest = group.lstrip('0')
    zeros = [zero(lang)] * (len(group) - len(rest))
    return ' '.join([*zeros, *([say(int(rest), lang)] if rest else [])])


def say_pairs(group, lang):
    return ' '.join(say_whole(part, lang) for part in re.findall('..?', group))


def loosen(text):
    return text.replace('-', ' ')


def recognise(text, lang):
    return alpha2digit(text, 'fr' if lang == 'fr' else 'en') if text.strip() else text


class Value:
    """Groups as they are said, the value as it is written, and a wrong group for corrections."""

    def __init__(self, kind, written, groups, wrong=None, joins=' '):
        self.kind, self.written, self.groups, self.wrong, self.joins = kind, written, groups, wrong, joins


openers = {
    'fr': ['', '', '', 'alors', 'oui', 'euh', 'oui alors', 'donc', 'bon', 'voilà', 'attendez', 'oui bonjour', 'bien sûr', 'd\'accord', 'allez-y notez'],
    'en': ['', '', '', 'so', 'yes', 'um', 'okay so', 'sure', 'right', 'well', 'yeah', 'of course', 'hang on', 'let me see', 'hi'],
}
closers = {
    'fr': ['', '', '', 'merci', 'voilà', 'c\'est tout', 's\'il vous plaît', 'vous avez noté', 'et je suis là toute la journée', 'bonne journée', 'si possible', 'd\'accord'],
    'en': ['', '', '', 'thanks', 'please', 'that\'s it', 'got that', 'if that helps', 'okay', 'and that\'s all', 'did you get that', 'any time'],
}
acks = {
    'fr': ['oui', 'd\'accord', 'ok', 'je note', 'allez-y', 'mm', 'très bien', 'oui je vous écoute', 'c\'est noté', 'ensuite', 'parfait'],
    'en': ['yes', 'okay', 'ok', 'got it', 'go ahead', 'mm hm', 'right', 'yep', 'uh huh', 'sure', 'carry on'],
}
hesitations = {'fr': ['euh', 'alors', 'et', 'puis', 'ensuite', 'après'], 'en': ['um', 'uh', 'then', 'and', 'er', 'so', 'let me see']}
corrections = {
    'fr': ['non', 'ah non', 'pardon', 'euh non', 'ah pardon', 'non pardon', 'je me trompe', 'excusez-moi', 'non attendez', 'je me suis trompé', 'oh pardon', 'ah non pardon', 'plutôt', 'non je reprends'],
    'en': ['no', 'sorry', 'no sorry', 'no wait', 'wait no', 'I mean', 'oh no', 'sorry no', 'my mistake', 'no hang on', 'actually', 'sorry I mean', 'scratch that'],
}

# Announcements; "%" is the place of the value. A question has its answer in the next utterance.
tells = {
    ('phone', 'fr'): ['mon numéro c\'est le %', 'vous pouvez me joindre au %', 'rappelez-moi au %', 'c\'est le %', 'le portable de ma femme %', 'je suis au %', 'notez le %', 'mon fixe est le %', 'appelez le %', 'le numéro du gardien est le %', '%', 'téléphone %', 'envoyez un sms au %', 'mon mobile pro %', 'il est joignable sur le %'],
    ('phone', 'en'): ['my number is %', 'you can reach me on %', 'call me back on %', 'it\'s %', 'my wife\'s mobile is %', 'try %', 'the best number is %', 'the landline is %', 'text me at %', '%', 'phone %', 'my cell is %', 'ring %', 'her work number is %', 'I\'m on %'],
    ('card', 'fr'): ['mon numéro de carte bancaire %', 'la carte bleue c\'est le %', 'numéro de carte %', 'je paie avec la visa %', 'ma carte de crédit est la %', 'c\'est une mastercard %', 'les seize chiffres sont %', 'voici le numéro de ma carte %', 'débitez la carte %', 'le numéro sur la carte c\'est %'],
    ('card', 'en'): ['my card number is %', 'the long number is %', 'the debit card is %', 'it\'s a visa %', 'my credit card number %', 'charge the mastercard %', 'the sixteen digits are %', 'card %', 'the number on the front of the card is %', 'take it from my card %'],
    ('iban', 'fr'): ['mon iban c\'est %', 'l\'iban du compte est %', 'iban %', 'mon rib %', 'mes coordonnées bancaires sont %', 'vous pouvez virer sur le compte %', 'le compte est le %', 'je vous donne mon iban %', 'votre remboursement sur %', 'le virement part vers %'],
    ('iban', 'en'): ['my iban is %', 'the iban for the account is %', 'iban %', 'please pay into %', 'the bank account is %', 'my bank details are %', 'wire it to %', 'refund it to %', 'here is my iban %', 'the account number in full is %'],
    ('nir', 'fr'): ['mon numéro de sécurité sociale est le %', 'numéro de sécu %', 'ma carte vitale indique %', 'mon numéro insee c\'est %', 'le numéro d\'assuré %', 'mon nir %', 'pour la sécu c\'est le %', 'mon immatriculation est %', 'sécurité sociale %', 'sur l\'attestation de la mutuelle il y a %'],
    ('email', 'fr'): ['mon mail c\'est %', 'mon adresse mail est %', 'écrivez-moi à %', 'envoyez la facture à %', 'c\'est %', 'mon adresse %', 'mon courriel %', 'vous pouvez m\'envoyer ça sur %', 'e-mail %', 'je reçois tout sur %', '%', 'le compte est au nom de %'],
    ('email', 'en'): ['my email is %', 'my email address is %', 'write to me at %', 'send the invoice to %', 'it\'s %', 'you can email %', 'the address is %', 'email %', 'I get everything at %', '%', 'the login is %', 'please use %'],
    ('birth', 'fr'): ['je suis né le %', 'je suis née le %', 'ma date de naissance est le %', 'date de naissance %', 'né le %', 'il est né le %', 'ma fille est née le %', 'ma date de naissance c\'est %', 'mon anniversaire c\'est le %', 'elle est née en fait le %'],
    ('birth', 'en'): ['I was born on %', 'my date of birth is %', 'date of birth %', 'born %', 'my birthday is %', 'she was born on %', 'my dob is %', 'the birth date is %', 'my son was born %', 'born on the %'],
    ('cvv', 'fr'): ['le cryptogramme est %', 'le code de sécurité c\'est %', 'les trois chiffres au dos sont %', 'cvv %', 'le code derrière la carte c\'est %', 'le cvc %', 'le code de vérification est le %', 'les chiffres au dos %', 'crypto %', 'le pictogramme c\'est %'],
    ('cvv', 'en'): ['the security code is %', 'the cvv is %', 'the three digits on the back are %', 'the code on the back is %', 'cvc %', 'the three digit code is %', 'cv2 is %', 'the last three digits on the back %', 'the verification code is %', 'the code on the back of the card says %'],
    ('expiry', 'fr'): ['elle expire en %', 'elle expire le %', 'la date d\'expiration est %', 'date d\'expiration %', 'la carte est valable jusqu\'au %', 'expire fin %', 'valide jusqu\'à %', 'fin de validité %', 'la date de validité c\'est %', 'elle expire fin %'],
    ('expiry', 'en'): ['it expires in %', 'the expiry date is %', 'expiry %', 'expires %', 'the expiration date is %', 'valid until %', 'valid thru %', 'exp date %', 'the card expires %', 'good through %'],
    ('last4', 'fr'): ['la carte finit par %', 'elle se termine par %', 'les quatre derniers chiffres de ma carte sont %', 'la carte qui se termine par %', 'les quatre derniers chiffres de la carte bleue %', 'ma carte finissant par %', 'carte terminant par %', 'les derniers chiffres de la carte c\'est %'],
    ('last4', 'en'): ['the card ends in %', 'the card ending in %', 'the last four digits of my card are %', 'card ending %', 'the last 4 of the card are %', 'my visa ends with %', 'last four digits of the card %', 'the debit card ending with %'],
    ('account', 'fr'): ['mon numéro de compte est le %', 'numéro de compte %', 'le compte bancaire numéro %', 'mon compte chez vous au crédit agricole c\'est le compte %'],
    ('account', 'en'): ['my account number is %', 'account number %', 'the bank account number is %', 'the account on file is %', 'checking account %'],
}
asks = {
    ('phone', 'fr'): ['quel est votre numéro de téléphone', 'à quel numéro peut-on vous rappeler', 'un numéro de portable', 'votre téléphone s\'il vous plaît'],
    ('phone', 'en'): ['what is your phone number', 'what number can we call you back on', 'a mobile number', 'the best contact number please'],
    ('card', 'fr'): ['quel est votre numéro de carte', 'numéro de carte bleue', 'dictez-moi les seize chiffres de la carte', 'votre carte bancaire s\'il vous plaît'],
    ('card', 'en'): ['what is the card number', 'the long number on the front', 'can I take your card details', 'read me the sixteen digits please'],
    ('iban', 'fr'): ['votre iban', 'quel est votre iban s\'il vous plaît', 'pouvez-vous me donner votre rib', 'sur quel compte faire le virement, votre iban'],
    ('iban', 'en'): ['your iban please', 'what is your iban', 'can I take the iban', 'which iban should we pay into'],
    ('nir', 'fr'): ['quel est votre numéro de sécurité sociale', 'votre numéro de sécu', 'le numéro sur votre carte vitale', 'votre numéro d\'assuré social'],
    ('email', 'fr'): ['quelle est votre adresse mail', 'votre e-mail s\'il vous plaît', 'à quelle adresse je vous envoie le devis', 'vous avez un courriel'],
    ('email', 'en'): ['what is your email address', 'your email please', 'where shall I send the quote', 'which email do you use'],
    ('birth', 'fr'): ['votre date de naissance', 'quelle est votre date de naissance s\'il vous plaît', 'vous êtes né quand', 'pour vérifier, date de naissance'],
    ('birth', 'en'): ['what is your date of birth', 'your date of birth please', 'when were you born', 'can I confirm your dob'],
    ('cvv', 'fr'): ['quel est le cryptogramme', 'et les trois chiffres au dos de la carte', 'le code de sécurité s\'il vous plaît', 'et le code au dos'],
    ('cvv', 'en'): ['and the security code', 'what are the three digits on the back', 'the three digit code please', 'and the cvv'],
    ('expiry', 'fr'): ['quelle est la date d\'expiration', 'elle expire quand', 'date de validité de la carte', 'et la date de fin de validité'],
    ('expiry', 'en'): ['what is the expiry date', 'and when does it expire', 'the expiration date please', 'and the expiry'],
    ('last4', 'fr'): ['quels sont les quatre derniers chiffres de la carte', 'les quatre derniers chiffres de votre carte bancaire'],
    ('last4', 'en'): ['what are the last four digits of the card', 'and the last four of your card'],
    ('account', 'fr'): ['quel est votre numéro de compte', 'votre numéro de compte bancaire'],
    ('account', 'en'): ['what is your account number', 'the account number please'],
}


# Values.

def make_phone(lang):
    if lang == 'fr':
        prefix = pick(['06', '06', '07', '01', '02', '03', '04', '05', '09', '0692', '0262', '0690', '0696'])
        number = prefix + digits(10 - len(prefix))
        written = '+33' + number[1:]
        style = pick(['pairs'] * 6 + ['digits', 'digits', 'threes', 'written', 'written', 'plus', 'spaced', 'dotted', 'commas', 'twice'])
        if style == 'plus':
            form = pick(['+33 %', 'plus trente-trois %', '+33 (0)%', '0033 %'])
            groups = [form.replace('%', number[1])] if form[0] in '+0' else [f"plus trente-trois {say(int(number[1]), lang)}"]
            groups += chunks(number[2:], [2, 2, 2]) if form[0] in '+0' else [say_pairs(part, lang) for part in chunks(number[2:], [2, 2, 2])]
            return Value('phone', written, groups)
        if style in ('written', 'spaced', 'dotted'):
            joins = {'written': '', 'spaced': ' ', 'dotted': '.'}[style]
            return Value('phone', written, chunks(number, [2, 2, 2, 2]), digits(2), joins)
        if style == 'twice':
            group = digits(2)
            number = f"06{group}{group}{digits(4)}"
            spoken = [say_pairs('06', lang), f"{pick(['deux fois', 'deux fois le'])} {say_whole(group, lang)}", *[say_pairs(part, lang) for part in chunks(number[6:], [2])]]
            return Value('phone', '+33' + number[1:], spoken)
        if style == 'threes':
            parts = pick([[2, 2, 3], [2, 3, 3], [4, 2, 2]])
            return Value('phone', written, [say_whole(part, lang) for part in chunks(number, parts)])
        speak = say_digits if style == 'digits' else say_pairs
        return Value('phone', written, [speak(part, lang) for part in chunks(number, [2, 2, 2, 2])], speak(digits(2), lang), ', ' if style == 'commas' else ' ')
    if lang == 'GB':
        number, sizes = pick([('07' + pick('45789') + digits(8), [5, 3]), ('020' + pick(['7', '8']) + digits(7), [3, 4]), ('01632' + digits(6), [5, 3]), ('0161' + digits(7), [4, 3]), ('07700900' + digits(3), [5, 3])])
        written = '+44' + number[1:]
        sizes = pick([sizes, [3, 2, 3], [5], [4, 3], [3, 4, 2]])
        style = pick(['digits'] * 6 + ['pairs', 'written', 'spaced', 'plus', 'commas', 'plus'])
        if style == 'plus':
            form = pick(['+44 %', '+44 (0)%', 'plus four four %', '0044 %'])
            parts = chunks(number[1:], [4, 3])
            spoken = form[0] in '+0'
            return Value('phone', written, [form.replace('%', parts[0] if spoken else say_digits(parts[0], lang)), *[part if spoken else say_digits(part, lang) for part in parts[1:]]])
        if style in ('written', 'spaced'):
            return Value('phone', written, chunks(number, sizes), digits(2), '' if style == 'written' else ' ')
        speak = say_pairs if style == 'pairs' else say_digits
        return Value('phone', written, [speak(part, lang) for part in chunks(number, sizes)], None if style == 'pairs' else speak(digits(3), lang), ', ' if style == 'commas' else ' ')
    area = pick(['212', '305', '415', '617', '702', '808', '206', '312', '404', '503', '713', '917', '646', '310'])
    number = area + pick('23456789') + pick('023456789') + digits(5)
    written = '+1' + number
    style = pick(['digits'] * 5 + ['pairs', 'pairs', 'brackets', 'spaced', 'dashed', 'written', 'plus', 'commas', 'one'])
    parts = chunks(number, [3, 3])
    if style == 'plus':
        return Value('phone', written, [f'+1 {area}', *parts[1:]])
    if style in ('brackets', 'spaced', 'dashed', 'written'):
        joins = {'brackets': ' ', 'spaced': ' ', 'dashed': '-', 'written': ''}[style]
        return Value('phone', written, [f'({area})', *parts[1:]] if style == 'brackets' else parts, None, joins)
    if style == 'pairs':
        return Value('phone', written, [say_digits(area, lang), say_digits(parts[1], lang), say_pairs(parts[2], lang)])
    spoken = [say_digits(part, lang) for part in parts]
    if style == 'one':
        spoken[0] = f'one {spoken[0]}'
    return Value('phone', written, spoken, say_digits(digits(3), lang), ', ' if style == 'commas' else ' ')


def luhn(text):
    total = 0
    for index, char in enumerate(reversed(text)):
        value = int(char) * (2 if index % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def make_card(lang, is_wrong=False):
    start = pick(['4970', '4539', '4111', '4000', '5136', '5299', '5412', '2221', '4974', '4976', '37'])
    start += digits((14 if start == '37' else 15) - len(start))
    number = start + luhn(start)
    if is_wrong:
        at = rng.randrange(4, len(number))
        number = number[:at] + str((int(number[at]) + 1 + rng.randrange(9)) % 10) + number[at + 1:]
    sizes = [4, 6] if len(number) == 15 else [4, 4, 4]
    parts = chunks(number, sizes)
    style = pick(['pairs', 'pairs', 'digits', 'digits', 'spaced', 'written', 'dashed', 'whole'] if lang == 'fr' else ['digits'] * 5 + ['pairs', 'spaced', 'written', 'dashed'])
    if style in ('spaced', 'written', 'dashed'):
        return Value('card', number, parts, digits(4), {'spaced': ' ', 'written': '', 'dashed': '-'}[style])
    speak = {'pairs': say_pairs, 'digits': say_digits, 'whole': lambda group, own: say_whole(group, own) if len(group) == 4 else say_pairs(group, own)}[style]
    return Value('card', number, [speak(part, lang) for part in parts], speak(digits(4), lang) if style != 'whole' else None)


people = {
    'fr': 'Anatole Berthe Célestin Désiré Eugène François Gaston Henri Irma Joseph Kléber Louis Marcel Nicolas Oscar Pierre Quintal Raoul Suzanne Thérèse Ursule Victor William Xavier Yvonne Zoé'.split(),
    'en': 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu'.split(),
}


def spell(letter, lang, is_named):
    if not letter.isalpha() or not is_named:
        return letter
    name = people['fr' if lang == 'fr' else 'en'][ord(letter.upper()) - 65]
    return f'{letter} {pick(["comme", "comme", "de"])} {name}' if lang == 'fr' else pick([name, f'{letter} for {name}', f'{letter} as in {name}'])


def make_iban(lang):
    country = pick(['FR'] * 6 + ['DE', 'BE', 'ES', 'NL', 'LU'] if lang == 'fr' else ['GB'] * 5 + ['IE', 'DE', 'FR', 'NL', 'MT', 'NO'])
    value = str(IBAN.random(country_code=country, random=rng))
    parts = re.findall('.{1,4}', value)
    style = pick(['spaced', 'spaced', 'written', 'lower', 'letters', 'pairs', 'pairs', 'digits', 'named'])
    if style in ('spaced', 'written', 'lower'):
        return Value('iban', value, [part.lower() for part in parts] if style == 'lower' else parts, None, '' if style == 'written' else ' ')
    def speak(part):
        said = []
        for run in re.findall(r'\d+|[A-Z]', part):
            if run.isalpha():
                said.append(spell(run if chance(0.5) else run.lower(), lang, style == 'named'))
            else:
                said.append(' '.join(run) if style == 'letters' else (say_pairs if style == 'pairs' else say_digits)(run, lang))
        return ' '.join(said)
    groups = [speak(part) for part in parts]
    return Value('iban', value, groups)


def make_nir(lang):
    department = pick(['75', '13', '69', '33', '59', '2A', '2B', '92', '06', '31', '44'])
    groups = [pick('12'), f'{rng.randrange(40, 105) % 100:02}', f'{rng.randrange(1, 13):02}', department, f'{rng.randrange(1, 400):03}', f'{rng.randrange(1, 990):03}']
    text = ''.join(groups)
    key = f"{97 - int(text.replace('2A', '19').replace('2B', '18')) % 97:02}"
    if chance(0.6):
        groups.append(key)
    style = pick(['pairs', 'pairs', 'pairs', 'digits', 'spaced', 'written'])
    if style in ('spaced', 'written'):
        return Value('nir', text + key, groups, None, '' if style == 'written' else ' ')
    def speak(group):
        if group[-1].isalpha():
            return f'{say(int(group[0]), lang)} {group[1]}'
        return say_digits(group, lang) if style == 'digits' else say_whole(group, lang)
    wrong = speak(f'{rng.randrange(10, 13)}')
    return Value('nir', text + key, [speak(group) for group in groups], wrong)


names = {
    'fr': 'camille julien sophie karim lea thomas manon hugo chloe antoine fatou mehdi ines maxime claire',
    'en': 'emma oliver amelia harry jack sophie thomas grace liam noah ava ethan mia logan priya',
}
families = {
    'fr': 'moreau lefevre garcia roux fournier girard bonnet lambert fontaine rousseau diallo nguyen benali perrin',
    'en': 'smith jones taylor campbell walker wright patel hughes johnson miller davis garcia wilson bennett',
}
hosts = {
    'fr': ['gmail.com', 'orange.fr', 'free.fr', 'laposte.net', 'hotmail.fr', 'wanadoo.fr', 'sfr.fr', 'yahoo.fr', 'outlook.com', 'exemple.fr', 'icloud.com', 'mon-atelier.fr', 'agence24.fr', 'garage-duval.com', 'neuf.fr'],
    'en': ['gmail.com', 'outlook.com', 'hotmail.co.uk', 'yahoo.com', 'btinternet.com', 'icloud.com', 'example.com', 'aol.com', 'example.co.uk', 'my-shop.com', 'studio54.com', 'sky.com'],
}
spoken_signs = {
    'fr': {'@': ['arobase', 'arobase', 'arobase', 'arrobase', 'at'], '.': ['point'], '-': ['tiret', 'tiret du six', 'trait d\'union', 'tiret du 6'], '_': ['underscore', 'tiret bas', 'tiret du huit', 'souligné', 'tiret du bas']},
    'en': {'@': ['at'], '.': ['dot'], '-': ['dash', 'hyphen', 'minus'], '_': ['underscore']},
}


def make_email(lang):
    own = 'fr' if lang == 'fr' else 'en'
    first, last = pick(names[own].split()), pick(families[own].split())
    number = pick(['', '', '', str(rng.randrange(1, 99)), str(rng.randrange(1950, 2006)), str(rng.randrange(100, 999))])
    local = pick([f'{first}.{last}', f'{first[0]}.{last}', f'{first}{last}', f'{first}-{last}', f'{first}_{last}', first, f'{last}.{first}', f'{first[0]}{last}', 'contact', f'{last}{first[0]}']) + number
    host = pick(hosts[own])
    value = f'{local}@{host}'
    style = pick(['words'] * 5 + ['letters', 'letters', 'written', 'named', 'spaced'])
    if style == 'written':
        return Value('email', value, [value])
    if style == 'spaced':
        return Value('email', value, [local, pick(['@', 'arobase' if own == 'fr' else 'at']), host])
    signs = {sign: pick(forms) for sign, forms in spoken_signs[own].items()}

    def speak(text, is_spelled):
        parts = []
        for run in re.findall(r'[a-z]+|\d+|[^a-z\d]', text):
            if run.isalpha():
                if is_spelled or len(run) == 1:
                    pairs = re.findall(r'(.)\1|(.)', run) if chance(0.4) else []
                    said = [f"{pick(['double', 'deux'] if own == 'fr' else ['double'])} {twice}" if twice else spell(once, lang, style == 'named' and chance(0.6)) for twice, once in pairs] or [spell(letter, lang, style == 'named' and chance(0.6)) for letter in run]
                    parts.append(' '.join(said))
                elif run in ('gmail', 'hotmail') and chance(0.15):
                    parts.append({'gmail': 'g mail', 'hotmail': 'hot mail'}[run])
                elif run == 'laposte':
                    parts.append(pick(['la poste', 'laposte']))
                else:
                    parts.append(run)
            elif run.isdigit():
                parts.append(pick([run, say_pairs(run, lang) if len(run) % 2 == 0 else say_digits(run, lang), say_whole(run, lang)]))
            else:
                parts.append(signs[run])
        return ' '.join(parts)
    is_spelled = style in ('letters', 'named')
    return Value('email', value, [speak(local, is_spelled), signs['@'], speak(host, False)])


months = {
    'fr': 'janvier février mars avril mai juin juillet août septembre octobre novembre décembre'.split(),
    'en': 'January February March April May June July August September October November December'.split(),
}


def say_year(year, lang):
    if lang == 'fr':
        return say(year, lang) if chance(0.7) else say_whole(f'{year % 100:02}', lang)
    return num2words(year, to='year', lang='en').replace(',', '') if chance(0.8) else say_pairs(str(year), lang)


def make_birth(lang):
    day, month, year = rng.randrange(1, 29), rng.randrange(1, 13), rng.randrange(1930, 2010)
    own = 'fr' if lang == 'fr' else 'en'
    name = months[own][month - 1]
    ordinal = num2words(day, to='ordinal', lang='en')
    short = f'{day:02}/{month:02}/{year}' if lang != 'US' else f'{month:02}/{day:02}/{year}'
    said = {
        'fr': [[f'{"premier" if day == 1 else say(day, lang)}', name, say_year(year, lang)], [f'{"1er" if day == 1 else day}', name, str(year)], [short], [short[:6] + short[8:]], [say_whole(f'{day:02}', lang), say_whole(f'{month:02}', lang), say_year(year, lang)], [short.replace('/', ' ')], [short.replace('/', '.')]],
        'GB': [[f'{ordinal} of', name, say_year(year, lang)], [f'{day}', name, str(year)], [ordinal, f'of {name}', say_year(year, lang)], [short], [short[:6] + short[8:]], [name, ordinal, say_year(year, lang)]],
        'US': [[name, ordinal, say_year(year, lang)], [name, f'{day},', str(year)], [short], [short[:6] + short[8:]], [say_whole(f'{month:02}', lang), say_whole(f'{day:02}', lang), say_year(year, lang)], [short.replace('/', '-')]],
    }[lang]
    return Value('birth', f'{year}-{month:02}-{day:02}', pick(said))


def make_cvv(lang):
    code = digits(3)
    spoken = pick([code, say_digits(code, lang), say_digits(code, lang), ' '.join(code), say_whole(code, lang)] if lang == 'fr' else [code, say_digits(code, lang), say_digits(code, lang), ' '.join(code)])
    return Value('cvv', code, [spoken])


def make_expiry(lang):
    month, year = rng.randrange(1, 13), rng.randrange(26, 33)
    name = months['fr' if lang == 'fr' else 'en'][month - 1]
    spoken = pick([f'{month:02}/{year}', f'{month:02}/{year}', f'{month:02}/20{year}', f'{name} 20{year}', f'{name} {say(2000 + year, lang)}', f'{say_whole(f"{month:02}", lang)} {say(year, lang)}', f'{month:02} {year}'])
    return Value('expiry', f'{month:02}/{year}', [spoken])


def make_last4(lang):
    code = digits(4)
    return Value('last4', code, [pick([code, say_digits(code, lang), say_pairs(code, lang), ' '.join(code)])])


def make_account(lang):
    code = digits(11 if lang == 'fr' else pick([8, 8, 10]))
    return Value('account', code, [pick([code, say_digits(code, lang), say_pairs(code, lang)])])


makers = {'phone': make_phone, 'card': make_card, 'iban': make_iban, 'nir': make_nir, 'email': make_email, 'birth': make_birth, 'cvv': make_cvv, 'expiry': make_expiry, 'last4': make_last4, 'account': make_account, 'card_wrong': lambda lang: make_card(lang, True)}

# A conversation: utterances of (speaker, [(text, is value)]).


def converse(value, lang, is_asked):
    own = 'fr' if lang == 'fr' else 'en'
    key = (value.kind, own)
    opener, closer = pick(openers[own]), pick(closers[own])
    lines = []
    if is_asked:
        lines.append(('a', [(pick(asks[key]), False)]))
        before, behind = '', ''
    else:
        before, behind = pick(tells[key]).split('%')
    before = ' '.join(part for part in [opener, before.strip()] if part)
    joins = value.joins
    said = [(before, False)] if before else []
    form = 'plain'
    may_part = len(value.groups) > 2 and joins in (' ', ', ')
    roll = rng.random()
    if may_part and value.kind != 'birth' and roll < 0.2:
        form = 'turns'
        cuts = sorted(rng.sample(range(1, len(value.groups)), min(rng.randrange(1, 4), len(value.groups) - 1)))
        for at, part in enumerate(value.groups):
            if at in cuts:
                lines.append(('c', said))
                lines.append(('a', [(pick(acks[own]), False)]))
                said = [(pick(hesitations[own]), False)] if chance(0.15) else []
            said.append((part, True))
    elif may_part and value.wrong and roll < 0.27:
        form = 'corrected'
        at = rng.randrange(1, len(value.groups))
        for index, part in enumerate(value.groups):
            if index == at:
                said += [(value.wrong, False), (pick(corrections[own]), False)]
            said.append((part, True))
    elif may_part and roll < 0.35:
        form = 'hesitant'
        at = rng.randrange(1, len(value.groups))
        for index, part in enumerate(value.groups):
            if index == at:
                said.append((pick(hesitations[own]), False))
            said.append((part, True))
    else:
        said.append((joins.join(value.groups), True))
    if value.kind == 'email' and own == 'fr' and chance(0.15):
        closer = pick(['tout attaché', 'tout en minuscules', 'en un seul mot'])
    said += [(part, False) for part in [behind.strip(), closer] if part]
    lines.append(('c', said))
    return form, lines


def render(lines, lang, form):
    """As said, without hyphens, in small letters without signs, or as a recogniser writes it."""
    way = pick(['said', 'said', 'loose', 'recognised', 'recognised'])
    said, spans = [], []
    for index, (speaker, parts) in enumerate(lines):
        text = ''
        for part, is_value in parts:
            if way in ('loose', 'recognised') and not re.search(r'[\d@]|\w\.\w', part):
                part = loosen(part).lower() if not re.search('[A-Z]', part) or not is_value else loosen(part)
            if way == 'recognised':
                part = recognise(part, lang)
            if text and part:
                text += ' '
            if is_value:
                spans.append([index, len(text), len(text) + len(part)])
            text += part
        said.append([speaker, text])
    return f'{form} {way}', said, spans


# Harmless sentences: each makes one text.


def amount(lang, top=None):
    number = rng.randrange(1, 10 ** rng.randrange(2, 7)) if top is None else rng.randrange(top // 10, top)
    return pick([say(number, lang), say(number, lang), str(number), f'{number:,}'.replace(',', ' ' if lang == 'fr' else ',')])


def number_between(low, high):
    return lambda lang: pick([str, lambda n: say(n, lang)])(rng.randrange(low, high))


def time_of(lang):
    hour, minute = rng.randrange(8, 20), pick([0, 15, 30, 45, 10])
    if lang == 'fr':
        return pick([f'{hour} heures {minute or ""}', f'{hour}h{minute:02}', f'{say(hour, lang)} heures {say(minute, lang) if minute else ""}'])
    return pick([f'{hour}:{minute:02}', f'{hour % 12 or 12} {pick(["am", "pm"])}', f'half past {say(hour % 12 or 12, lang)}'])


def date_of(lang):
    day, month, year = rng.randrange(1, 29), rng.randrange(1, 13), rng.randrange(2019, 2028)
    own = 'fr' if lang == 'fr' else 'en'
    return pick([f'{day} {months[own][month - 1]} {year}', f'{day:02}/{month:02}/{year}', f'{day} {months[own][month - 1]}', f'{say(day, lang)} {months[own][month - 1]}'])


def isbn(_lang):
    text = pick(['9780', '9782', '9791', '9781']) + digits(8)
    check = -sum(int(d) * (1 if i % 2 == 0 else 3) for i, d in enumerate(text)) % 10
    text += str(check)
    return pick([text, f'{text[:3]}-{text[3]}-{text[4:7]}-{text[7:12]}-{text[12]}'])


def barcode(_lang):
    text = pick(['30', '40', '50', '00', '76', '87']) + digits(10)
    return text + str(-sum(int(d) * (1 if i % 2 == 0 else 3) for i, d in enumerate(text)) % 10)


def sizes_of(lang):
    own = sorted({rng.randrange(34, 50) for _ in range(4)})
    return pick([' '.join(map(str, own)), ' '.join(say(n, lang) for n in own), ', '.join(map(str, own))])


def reference(lang):
    return pick([digits(6), f'{chr(65 + rng.randrange(26))}{digits(5)}', f'{rng.randrange(2020, 2027)}-{digits(5)}', say_pairs(digits(4), lang), f'{digits(3)} {digits(3)}', f'CMD{digits(7)}'])


slots = {
    'amount': amount,
    'six': lambda lang: pick([say(number, lang) for number in [rng.randrange(100_000, 1_000_000)]]),
    'thousand': lambda lang: say(rng.randrange(1000, 2000), lang),
    'year': lambda lang: pick([str(rng.randrange(1950, 2030)), say_year(rng.randrange(1950, 2030), lang)]),
    'number': number_between(2, 99),
    'hundreds': number_between(100, 999),
    'time': time_of,
    'date': date_of,
    'isbn': isbn,
    'barcode': barcode,
    'sizes': sizes_of,
    'reference': reference,
    'ip': lambda _lang: '.'.join(str(rng.randrange(1, 255)) for _ in range(4)),
    'postcode': lambda lang: pick([f'{rng.randrange(10, 96)}{digits(3)}', say_whole(f'{rng.randrange(10, 96)}{pick(["000", "100", "200"])}', lang)]) if lang == 'fr' else (f'{pick("ABCDEF")}{pick("ABCDE")}{rng.randrange(1, 20)} {rng.randrange(1, 9)}{pick("ABDEF")}{pick("ABDEF")}' if lang == 'GB' else pick([digits(5), say_digits(digits(5), lang)])),
    'count': lambda lang: ' '.join(say(n, lang) for n in range(pick([3, 5, 10]), 0, -1)),
    'version': lambda _lang: f'{rng.randrange(1, 20)}.{rng.randrange(0, 20)}.{rng.randrange(0, 30)}',
    'percent': number_between(2, 99),
    'decimal': lambda lang: pick([f'{rng.randrange(1, 999)},{digits(2)}' if lang == 'fr' else f'{rng.randrange(1, 999)}.{digits(2)}', f'{say(rng.randrange(1, 999), lang)} {"virgule" if lang == "fr" else "point"} {say(rng.randrange(1, 9), lang)}']),
}
harmless = {
    'fr': {
        'amount': ['ça fait {amount} euros', 'le devis est à {amount} euros hors taxes', 'la maison coûte {six} euros', 'on a vendu {amount} pièces', 'la voiture a {six} kilomètres', 'un budget de {amount} euros', 'le salaire est de {amount} euros par an', 'il y a {amount} habitants dans la ville', 'la subvention de {six} euros est versée', 'entre {amount} et {amount} euros', 'ils ont {six} abonnés', 'le terrain fait {amount} mètres carrés', 'au total {decimal} euros', 'soit {six} au total', 'j\'en ai commandé {amount}', 'le capital est de {six}'],
        'year': ['c\'était en {year}', 'la maison date de {year}', 'entre {year} et {year} j\'ai déménagé', 'le modèle {year} est épuisé', 'depuis {year} je suis client'],
        'reference': ['la référence est {reference}', 'mon dossier numéro {reference}', 'la commande {reference} n\'est pas arrivée', 'facture {reference} du {date}', 'le contrat {reference}', 'le ticket {reference} est ouvert'],
        'isbn': ['le livre a l\'ISBN {isbn}', 'ISBN {isbn}'],
        'barcode': ['le code-barres est {barcode}', 'le produit {barcode} est en rupture', 'le colis express {barcode}'],
        'address': ['j\'habite au {number} rue de la gare {postcode} à Lyon', '{number} avenue Foch appartement {number} {postcode}', 'le code postal c\'est {postcode}', 'bâtiment {number} étage {number} porte {number}'],
        'technical': ['l\'adresse ip est {ip}', 'la version {version} est installée', 'le routeur est en {ip}', 'error {hundreds} sur la page'],
        'size': ['j\'ai les tailles {sizes}', 'je fais du {number} en pantalon et du {number} en chaussures', 'le meuble mesure {hundreds} par {number} sur {number}', 'il pèse {decimal} kilos', '{hundreds} centimètres de haut'],
        'time': ['on ouvre de {time} à {time}', 'rendez-vous le {date} à {time}', 'je suis de permanence le {date}', 'rappelez entre {time} et {time}', 'du {date} au {date}', 'l\'intervention du {date} est annulée'],
        'count': ['le compte à rebours {count}', 'on compte {count} et c\'est parti', 'il y a {percent} pour cent de remise', '{number} personnes sur {number} sont contentes', 'tapez 1 puis 2 puis 3', 'page {hundreds} chapitre {number} ligne {number}', 'j\'ai {number} ans et ma femme {number}', 'j\'ai appelé {number} fois en {number} jours', 'les quatre derniers chiffres de la commande sont {reference}'],
        'talk': ['je vous assure que ça marche', 'je suis allé sur le site point com', 'mon mari est né à Lyon', 'la carte est expirée depuis longtemps', 'on a commandé sur amazon point fr', 'mon code est bloqué', 'vous avez mon mail', 'il y a {number} points à voir', 'le dossier est clos', 'je rappelle plus tard', 'ma carte ne passe plus depuis {number} jours', 'c\'est au {number} de la rue'],
    },
    'en': {
        'amount': ['it comes to {amount} {currency}', 'the quote is {amount} {currency} plus tax', 'the house costs {six} {currency}', 'we sold {amount} units', 'the car has {six} miles on it', 'a budget of {amount} {currency}', 'the salary is {amount} a year', 'the town has {amount} inhabitants', 'a grant of {six} {currency}', 'between {amount} and {amount} {currency}', 'they have {six} followers', 'the plot is {amount} square feet', 'the total is {decimal} {currency}', 'that is {six} in total', 'I ordered {thousand} of them', 'about {amount} people came'],
        'year': ['that was in {year}', 'the house dates from {year}', 'between {year} and {year} I moved', 'the {year} model is sold out', 'a customer since {year}'],
        'reference': ['the reference is {reference}', 'my case number is {reference}', 'order {reference} has not arrived', 'invoice {reference} dated {date}', 'invoice number {reference} is overdue', 'ticket {reference} is open'],
        'isbn': ['the book has ISBN {isbn}', 'ISBN {isbn}'],
        'barcode': ['the barcode is {barcode}', 'product {barcode} is out of stock', 'the express parcel {barcode}'],
        'address': ['I live at {number} station road {postcode}', 'flat {number} on floor {number} {postcode}', 'the {zip} is {postcode}', 'building {number} room {hundreds}'],
        'technical': ['the ip address is {ip}', 'version {version} is installed', 'the router is at {ip}', 'error {hundreds} on the page'],
        'size': ['I have sizes {sizes}', 'sizes {sizes} and {number}', 'a size {number} in trousers', 'the desk is {hundreds} by {number} by {number}', 'it weighs {decimal} kilos', '{hundreds} centimetres tall'],
        'time': ['we open from {time} to {time}', 'the appointment on {date} at {time}', 'I am on duty on {date}', 'call between {time} and {time}', 'from {date} to {date}'],
        'count': ['the countdown {count}', 'count {count} and go', 'there is {percent} percent off', '{number} out of {number} people are happy', 'press 1 then 2 then 3', 'page {hundreds} chapter {number} line {number}', 'I am {number} and my wife is {number}', 'I called {number} times in {number} days', 'the last four digits of the order are {reference}'],
        'talk': ['I am at home dot dot dot', 'I looked at amazon dot com', 'my husband was born in Leeds', 'the card has expired long ago', 'my business address changed', 'I guess that is less', 'you have my email', 'there are {number} points to see', 'look at the site at example dot org', 'I will call back later', 'my card has not worked for {number} days', 'meet me at number {number}'],
    },
}


def make_harmless(lang, sort):
    text = pick(harmless['fr' if lang == 'fr' else 'en'][sort])
    text = text.replace('{currency}', pick(['pounds', 'pounds'] if lang == 'GB' else ['dollars', 'bucks', 'dollars'])).replace('{zip}', 'postcode' if lang == 'GB' else 'zip code')
    text = re.sub(r'\{(\w+)\}', lambda match: slots[match.group(1)](lang), text)
    own = 'fr' if lang == 'fr' else 'en'
    text = ' '.join(part for part in [pick(openers[own]), text, pick(closers[own])] if part)
    way = pick(['said', 'loose', 'recognised'])
    if way != 'said':
        text = loosen(text).lower() if not re.search(r'\d', text) else text.lower()
    return way, [['c', recognise(text, lang) if way == 'recognised' else text]]


def write(lang, kind, form, said, spans=(), value=''):
    print(json.dumps({'lang': lang, 'kind': kind, 'form': form, 'said': said, 'spans': spans, 'value': value}, ensure_ascii=False))


# Siblings: national numbers over turns, without a zero to begin with, and a zero in a turn of its own.
national = {
    'ES': (lambda: '6' + digits(8), [3, 2, 2]), 'PT': (lambda: '91' + digits(7), [3, 3]), 'LU': (lambda: '621' + digits(6), [3, 3]),
    'DK': (lambda: pick(['20', '31', '40', '51']) + digits(6), [2, 2, 2]), 'PL': (lambda: pick(['50', '60', '78']) + digits(7), [3, 3]),
    'IT': (lambda: '34' + pick('0789') + digits(7), [3, 3]), 'US': (lambda: pick(['212', '305', '617']) + pick('23456789') + '2' + digits(5), [3, 3]),
}
calling = {'ES': '34', 'PT': '351', 'LU': '352', 'DK': '45', 'PL': '48', 'IT': '39', 'US': '1'}


def make_turns(lang):
    make, sizes = national[lang]
    number = make()
    own = pick(['fr', 'en'])
    said, spans = [], []
    for index, part in enumerate(chunks(number, sizes)):
        before = pick(asks['phone', own]) if index == 0 else pick(acks[own])
        said.append(['a', before])
        lead = pick(['', '', pick(hesitations[own])]) if index else pick(['', 'c\'est le' if own == 'fr' else 'it\'s'])
        text = f'{lead} {part}'.strip()
        spans.append([len(said), len(text) - len(part), len(text)])
        said.append(['c', text])
    write(lang, 'phone_turns', 'turns written', said, spans, f'+{calling[lang]}{number}')


def make_oh():
    number = '0' + pick('17') + digits(9)
    parts = ['0', *chunks(number[1:], [3, 3])]
    said, spans = [], []
    for index, part in enumerate(parts):
        said.append(['a', pick(asks['phone', 'en']) if index == 0 else pick(acks['en'])])
        text = 'oh' if index == 0 else say_digits(part, 'GB')
        spans.append([len(said), 0, len(text)])
        said.append(['c', text])
    write('GB', 'phone_oh', 'oh alone', said, spans, '+44' + number[1:])


kinds = {'fr': list(makers), 'GB': [kind for kind in makers if kind != 'nir'], 'US': [kind for kind in makers if kind not in ('nir', 'iban')]}
for lang, own_kinds in kinds.items():
    for kind in own_kinds:
        for _ in range(count):
            value = makers[kind](lang)
            form, lines = converse(value, lang, kind != 'last4' and chance(0.35))
            form, said, spans = render(lines, lang, form)
            write(lang, kind, form, said, spans, value.written)
    sorts = list(harmless['fr' if lang == 'fr' else 'en'])
    for index in range(count * len(own_kinds)):
        sort = pick(['amount', 'amount', 'amount', *sorts])
        way, said = make_harmless(lang, sort)
        write(lang, f'harmless: {sort}', way, said)
for lang in national:
    for _ in range(count):
        make_turns(lang)
for _ in range(count):
    make_oh()
