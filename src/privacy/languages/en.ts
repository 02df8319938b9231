import type { Language } from './fr.ts';

export const english: Language = {
  name: 'English',
  countries: 'GB US IE CA AU NZ',
  units: `0 zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen 17 seventeen eighteen nineteen`,
  tens: '20 twenty thirty forty fifty sixty seventy eighty ninety 40 fourty',
  longTens: '',
  joint: '',
  jointUnits: '',
  hundreds: 'hundred',
  loneHundred: '',
  and: 'and',
  thousands: 'thousand',
  zeros: 'oh o nought',
  twice: 'double',
  thrice: 'triple',
  times: 'times',
  quantities: `pound*, quid, dollar*, buck*, euro*, cents, pence, percent, per cent, million*, billion*, kilo*, km, kg, gram*, litre*, liter*, metre*, meter*,
    centimet*, cm, mm, mile*, yard*, feet, foot, inch*, acre*, square, tonne*, tons, degree*, hour*, minute*, seconds, day, days, week*, month*, year*, times,
    people, inhabitant*, follower*, subscriber*, employee*, units, items, pieces, page*, seats, floor*, of them, views, votes, pm, o clock, points, boxes,
    bottles`,
  clock: '',
  fillers: `um uh uhm er and then so well yes yeah yep right dash dot space st nd rd th sure got it sorry no okay the hyphen comma`,
  hesitations: 'let me see, hang on, one moment, one second, just a second, go ahead, uh huh, carry on',
  corrections: `no, sorry, correction, rather, actually, wait, i mean, mistake, scratch that, oops, wrong, that s not right, let me start again`,
  signs: `@ = arobase, at sign, at symbol; . = dot, period, full stop; - = dash, hyphen, minus; _ = underscore, under score, low dash`,
  spelledLike: 'for, as in, like, as',
  alphabet: `alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa quebec romeo sierra tango uniform
    victor whiskey whisky xray yankee zulu`,
  beforeAddress: `the is to be me my it s at sure would login write line your our his her address email mail i m on by use please or and for reach send that
    so yes you can with from about us him them it`,
  announcesAddress: `mail, mails, email, emails, mailto, address, contact, write, send, reach, inbox, login, username, get everything`,
  hosts: 'hotmail = hot mail; icloud = i cloud; gmail = g mail; btinternet = bt internet, b t internet',
  months: `january jan february feb march mar april apr may june jun july jul august aug september sep sept october oct november nov december dec`,
  unitOrdinals: 'first second third fourth fifth sixth seventh eighth ninth',
  otherOrdinals: `tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth`,
  betweenDates: 'of the st nd rd th in and on',
  announces: {
    phone: `phone, telephone, mobile, cell, landline, call me, call us, ring me, ring, reach me, text me, contact number, work number, my number, home number,
      phone number, area code`,
    card: `card number, visa, mastercard, amex, american express, long number, sixteen digit*, 16 digit*, number on the front, card`,
    iban: 'iban, bank details, wire it, wire transfer, pay into, pay it into, refund it, transfer it',
    account: 'account, account number, account no, sort code, routing number',
    nir: 'social security number, french social security',
    cvv: `security code, security number, verification code, verification value, verification number, cvv, cvc, cv 2, cid, three digit, three digits, 3 digit,
      3 digits, four digit code, 4 digit code, back of _ card, on the back`,
    birth: 'born, birth, birthday, birthdate, dob, d o b, what year, which year',
    expiry: `expires, expire, expiry, expiration, exp, valid until, valid thru, valid through, good through, good thru, valid to, valid till, expiring`,
    last4: `card ending, card ending in, card ending with, visa ending, mastercard ending, last four digits of _ card, last 4 digits of _ card, last four of _
      card, last 4 of _ card, last four digits on _ card, last four digits of _ credit card, last four digits of _ debit card, ends in, ends with`,
    other: `isbn, ean, barcode, bar code, upc, invoice, order, reference, ref, case number, ticket, tracking, parcel, product, version, ip, ip address, size,
      sizes, zip, zip code, postcode, serial number, model, part number, countdown, count, budget, price, quote, vat`,
  },
  titles: `mr mrs ms miss dr sir madam customer service support reception desk sales ltd inc llc the of and unknown private anonymous withheld mobile line
    direct office main number caller test`,
  beforeNames: `mr, mrs, mister, missus, ms, miss, dr, doctor, name is, name s, name, surname, surname is, i am, i m, this is, hi, hello, hey, dear, thanks,
    thank you, bye, goodbye, tell, ask, speaking to, speak to, speaking with, speak with, called, morning, afternoon, evening`,
  articles: 'the a an these those my your his her its our their some any every each another',
  ordinaryNames: `will mark grace rose hope joy faith may june april august grant rich bill rob pat sue frank art drew chase miles wade pierce chuck guy max
    jan mac summer autumn winter spring dawn eve penny sandy sunny merry earnest patience mercy charity long short young old black white brown green grey blue
    gold silver price cost rice day week friday monday sunday north south east west love good best better strong sharp smart wise noble sweet small little
    power law case bond cash sales gift reading read cross close fair fast fine fry head hand heard hurt just keen key land light lock main major march mill
    nice pace page park peace place post quick rush self speed still street swift tell wild worth ward well bank bright early english french german stone cook
    house wall water waters christmas sample nick`,
};
