/**
 * Words of one language, lower case without accents; a word with accents matches only itself. Phrases are parted by
 * commas; `*` is any ending, `_` any word. Signs within a phrase do not count. Every language has the same lists.
 */
export const french = {
  name: 'French',
  /** Countries whose callers say numbers so. */
  countries: 'FR BE CH LU MC',
  /** Number words, each behind a number from which they count on; hyphens part the words of one number. */
  units: `0 zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize 17 dix-sept dix-huit dix-neuf 1 une 80 quatre-vingts`,
  /** From ten to ten. */
  tens: '20 vingt trente quarante cinquante soixante septante huitante nonante 80 octante 80 quatre-vingt',
  /** Tens behind which numbers go on to nineteen. */
  longTens: 'soixante quatre-vingt',
  /** Word between a ten and some units. */
  joint: 'et',
  /** Units behind it. */
  jointUnits: 'un une onze',
  hundreds: 'cent cents',
  /** A hundred that needs no number before it. */
  loneHundred: 'cent',
  /** Between hundreds and the rest. */
  and: '',
  thousands: 'mille',
  /** Letters and words that are a zero between digits. */
  zeros: '',
  /** Before a digit that counts twice. */
  twice: 'double',
  /** Before a digit that counts three times. */
  thrice: 'triple',
  /** "two times 33" */
  times: 'fois',
  /** Words behind a number that make it an amount, a measure or a count. */
  quantities: `euro*, centime*, balles, franc*, dollar*, pour cent, pourcent*, million*, milliard*, kilo*, km, kg, gramme*, litre*, metre*, cm, mm, tonne*,
    degre*, heure*, minute*, seconde*, jour*, semaine*, mois, an, ans, annee*, trimestre*, fois, personne*, habitant*, abonne*, salarie*, piece*, exemplaire*,
    unite*, points, page*, place*, etage*, hectare*, voix, vues, h`,
  /** Words between hours and minutes. */
  clock: 'h heure heures',
  /** Words between the parts of a number that do not end it. */
  fillers: `et puis apres ensuite alors enfin euh heu hum hm mm mmm voila oui ok okay d accord accorde tiret point slash espace blanc comme c est le les la er
    ere donc plus encore note finalement pardon excusez moi attendez bon ben bah hein hop non oh ah virgule`,
  /** Phrases that do not end it either. */
  hesitations: `laissez moi voir, attendez voir, une seconde, un instant, je vous ecoute, je note, je regarde, tres bien, c est ca`,
  /** With them a speaker takes the last part back. */
  corrections: `non, pardon, plutot, erreur, correction, me trompe, suis trompe, trompee, reprends, excusez moi, je rectifie, je corrige, desole, desolee`,
  /** Signs of an address as they are said; those of `@` mean nothing else. */
  signs: `@ = arobase, arrobase, arobas, arobaz, arrobas, arobace, a commercial, at sign; . = point; - = tiret, tiret du six, tiret du 6, tiret haut, tiret du
    milieu, trait union, petit tiret; _ = tiret bas, tiret du bas, tiret du huit, tiret du 8, souligne, underscore, under score, tiret souligne, blanc
    souligne, sous tiret`,
  /** Between a letter and a name that begins with it. */
  spelledLike: 'comme, de, pour',
  /** Names of letters that are said instead of them. */
  alphabet: '',
  /** Words before an address that are no part of it. */
  beforeAddress: `est c a mail email e adresse courriel sur vers avec par je vous mon ma mes son sa votre notre voila alors oui donc l de que pour et ou chez
    le la les un une moi note notez toujours bien euh nom compte au du en dans`,
  /** Words that announce an address. */
  announcesAddress: `mail, mails, email, emails, courriel, adresse, contact, identifiant, login, ecri*, envoye*, recois tout`,
  /** Hosts that are said in several words. */
  hosts: `neuf = 9; laposte = la poste; gmail = g mail, gemail, jmail; hotmail = hot mail; icloud = i cloud; sfr = s f r`,
  months: `janvier janv jan fevrier fevr fev feb mars mar avril avr apr mai juin jun juillet juil jul aout aug septembre sept sep octobre oct novembre nov
    decembre dec`,
  /** Ordinal numbers of days below ten. */
  unitOrdinals: '',
  /** The others that are one word. */
  otherOrdinals: 'premier',
  /** Between the parts of a date. */
  betweenDates: 'de du le er ere l an en mois annee',
  /** Words that announce a value of each kind; `other` numbers are nobody's. */
  announces: {
    phone: `telephone, tel, portable, mobile, mon fixe, le fixe, joindre, joignable, rappelez, rappeler, appelez, appeler, sms, texto, numero de fixe,
      whatsapp`,
    card: `numero de carte, numero de _ carte, carte bancaire, carte bleue, carte de credit, carte de paiement, visa, mastercard, la carte, ma carte, cb,
      amex, american express, seize chiffres, 16 chiffres, votre carte`,
    iban: 'iban, rib, coordonnees bancaires, releve d identite bancaire, virement, virer, remboursement, rembourser',
    account: `numero de compte, numero du compte, compte numero, numero de _ compte, compte bancaire, le compte, mon compte, votre compte, compte client`,
    nir: `secu, securite sociale, numero de securite sociale, code de securite sociale, vitale, numero d assure, numero de l assure, assure social, assuree
      sociale, matricule, immatricul*, nir, insee, ameli, mutuelle, assurance maladie`,
    cvv: `crypto, cryptogramme, cryptogrammes, pictogramme, pictogrammes, cvv, cvc, cv 2, code de securite, numero de securite, trois chiffres, 3 chiffres,
      trois derniers chiffres, 3 derniers chiffres, quatre chiffres, 4 chiffres, dos de _ carte, au dos, derriere _ carte, code derriere, code de verification`,
    birth: `né, nés, suis ne, est ne, etes ne, ne le, nee, nes, nees, naissance, anniversaire, ddn, je suis du, quelle annee`,
    expiry: `expire, expiration, validite, valable jusqu, valide jusqu, valable jusque, valide jusque, arrive a echeance`,
    last4: `carte finit par, carte se termine par, carte qui finit par, carte qui se termine par, carte terminant par, carte finissant par, carte termine par,
      carte se finit par, elle se termine par, elle finit par, se terminant par, carte bancaire qui se termine par, derniers chiffres de _ carte`,
    other: `isbn, ean, code barre, code barres, siret, siren, tva, facture, commande, reference, ref, dossier, ticket, contrat, colis, produit, article,
      version, ip, taille, tailles, pointure*, code postal, numero de serie, modele, suivi, devis, compte a rebours, le compte a rebours, on compte, budget,
      prix, montant, seuil`,
  },
  /** Words of a contact's name that name nobody. */
  titles: `m mr mme mlle monsieur madame mademoiselle docteur dr maitre service client clients accueil societe sarl sas sa ste et le la les de du des d l
    ligne directe standard cabinet medical numero inconnu anonyme masque prive mobile fixe portable bureau siege agence boutique magasin test`,
  /** Phrases before a name. */
  beforeNames: `monsieur, madame, mademoiselle, m, mr, mme, mlle, docteur, dr, maitre, appelle, nom, prenom, nom c est, prenom c est, nom de, nom de famille,
    nom de famille c est, nom est, prenom est, part de, dire a, parler a, demander a, je suis, bonjour, bonsoir, salut, merci, cher, chere, ici, au revoir`,
  /** Words that stand before nouns, and never before a name. */
  articles: `le la les l un une des du au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs`,
  /** Names that are said as ordinary words far more often. */
  ordinaryNames: `petit petite grand grande gros blanc blanche noir roux rouge brun brune vert bleu gris bon bonne beau bel belle jolie joli fort forte court
    long large jeune vieux ancien riche sage vaillant gentil doux fier content juste parfait fidele modeste desire aime grace rose claire clair victoire
    chance ange reine lucky noel mars mai avril juin dimanche midi nord sud est ouest point premier dernier tout place ville page pain vin bois fin fer gel
    sol sel bar bas ben van don droit garde noble cher ami cousin mer paris port pont part pas plus pour prix tard temps terre vide vie vrai maitre chef pire`,
};

export type Language = typeof french;
/** Kinds of values that words announce. */
export type Announced = keyof Language['announces'];
