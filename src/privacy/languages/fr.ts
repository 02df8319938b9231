import type { Language } from './language.ts';

export const french: Language = {
  name: 'French',
  countries: 'FR BE CH LU MC',
  units: [
    [0, 'zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize'],
    [17, 'dix-sept dix-huit dix-neuf'],
    [1, 'une'],
    [80, 'quatre-vingts'],
  ],
  tens: [
    [20, 'vingt trente quarante cinquante soixante septante huitante nonante'],
    [80, 'octante'],
    [80, 'quatre-vingt'],
  ],
  longTens: 'soixante quatre-vingt',
  joint: ['et', 'un une onze'],
  hundreds: 'cent cents',
  loneHundred: 'cent',
  and: '',
  thousands: 'mille',
  zeros: '',
  repeats: ['double', 'triple'],
  times: 'fois',
  quantities: `euro*, centime*, balles, franc*, dollar*, pour cent, pourcent*, million*, milliard*, kilo*, km, kg, gramme*, litre*, metre*,
    centimetre*, cm, mm, tonne*, degre*, heure*, minute*, seconde*, jour*, journee*, semaine*, mois, an, ans, annee*, trimestre*, fois,
    personne*, habitant*, abonne*, salarie*, piece*, exemplaire*, unite*, points, page*, place*, etage*, hectare*, voix, vues, h`,
  clock: 'h heure heures',
  fillers: `et puis apres ensuite alors enfin euh heu hum hm mm mmm voila oui ok okay d accord accorde tiret point slash espace blanc
    comme c est le les la er ere donc plus encore note finalement pardon excusez moi attendez bon ben bah hein hop non oh ah virgule`,
  hesitations: `laissez moi voir, attendez voir, une seconde, un instant, je vous ecoute, je note, je regarde, tres bien, c est ca`,
  corrections: `non, pardon, plutot, erreur, correction, me trompe, suis trompe, trompee, me suis trompee, reprends, excusez moi,
    je rectifie, je corrige, desole, desolee`,
  signs: {
    '@': 'arobase, arrobase, arobas, arobaz, arrobas, arobace, a commercial, at sign',
    '.': 'point',
    '-': 'tiret, tiret du six, tiret du 6, tiret haut, tiret du milieu, trait union, petit tiret',
    _: 'tiret bas, tiret du bas, tiret du huit, tiret du 8, souligne, underscore, under score, tiret souligne, blanc souligne, sous tiret',
  },
  spelledLike: 'comme, de, pour',
  alphabet: '',
  beforeAddress: `est c a mail email e adresse courriel sur vers avec par je vous mon ma mes son sa votre notre voila alors oui donc l de
    que pour et ou chez le la les un une moi note notez toujours bien euh nom compte au du en dans`,
  announcesAddress:
    'mail, mails, email, emails, courriel, adresse, contact, identifiant, login, ecri*, envoye*, recois tout',
  hosts: {
    neuf: '9',
    laposte: 'la poste',
    gmail: 'g mail, gemail, jmail',
    hotmail: 'hot mail',
    icloud: 'i cloud',
    sfr: 's f r',
  },
  months: `janvier janv jan fevrier fevr fev feb mars mar avril avr apr mai juin jun juillet juil jul aout aug septembre sept sep octobre
    oct novembre nov decembre dec`,
  ordinals: ['', 'premier'],
  betweenDates: 'de du le er ere l an en mois annee',
  announces: {
    phone: `telephone, tel, portable, mobile, mon fixe, le fixe, joindre, joignable, rappelez, rappeler, appelez, appeler, sms, texto,
      numero de telephone, numero de portable, numero de fixe, whatsapp`,
    card: `numero de carte, numero de _ carte, carte bancaire, carte bleue, carte de credit, carte de paiement, carte visa, visa, mastercard,
      la carte, ma carte, cb, amex, american express, seize chiffres, 16 chiffres, numero sur la carte, votre carte`,
    iban: 'iban, rib, coordonnees bancaires, releve d identite bancaire, virement, virer, remboursement, rembourser',
    account:
      'numero de compte, numero du compte, compte numero, numero de _ compte, compte bancaire, le compte, mon compte, votre compte, compte client',
    nir: `secu, securite sociale, numero de securite sociale, code de securite sociale, carte vitale, vitale, numero d assure, numero de l assure, assure social, assuree sociale, matricule,
      immatricul*, nir, insee, ameli, mutuelle, assurance maladie`,
    cvv: `crypto, cryptogramme, cryptogrammes, pictogramme, pictogrammes, cvv, cvc, cv 2, code de securite, numero de securite, trois chiffres, 3 chiffres,
      trois derniers chiffres, 3 derniers chiffres, quatre chiffres, 4 chiffres, dos de _ carte, chiffres au dos, code au dos, au dos,
      derriere la carte, derriere ma carte, derriere votre carte, derriere sa carte, code derriere, code de verification`,
    birth: `né, nés, suis ne, est ne, etes ne, ne le, nee, nes, nees, naissance, anniversaire, ddn, je suis du, date de naissance, annee de naissance, quelle annee`,
    expiry: `expire, expiration, date d expiration, validite, date de validite, fin de validite, valable jusqu, valide jusqu, valable jusque,
      valide jusque, arrive a echeance`,
    last4: `carte finit par, carte se termine par, carte qui finit par, carte qui se termine par, carte terminant par, carte finissant par,
      carte termine par, carte se finit par, elle se termine par, elle finit par, se terminant par, carte bancaire qui se termine par,
      quatre derniers chiffres de la carte, quatre derniers chiffres de ma carte, quatre derniers chiffres de votre carte,
      4 derniers chiffres de la carte, 4 derniers chiffres de ma carte, 4 derniers chiffres de votre carte,
      derniers chiffres de la carte, derniers chiffres de ma carte, derniers chiffres de votre carte, derniers chiffres de sa carte`,
    other: `isbn, ean, code barre, code barres, siret, siren, tva, facture, commande, reference, ref, dossier, ticket, contrat, colis, produit,
      article, version, adresse ip, ip, taille, tailles, pointure*, code postal, numero de serie, modele, suivi, devis, compte a rebours, le compte a rebours,
      on compte, budget, prix, montant, seuil`,
  },
  titles:
    'm mr mme mlle monsieur madame mademoiselle docteur dr maitre service client clients accueil societe sarl sas sa ste et le la les de du des d l ligne directe standard cabinet medical numero inconnu anonyme masque prive mobile fixe portable bureau siege agence boutique magasin test',
  beforeNames: `monsieur, madame, mademoiselle, m, mr, mme, mlle, docteur, dr, maitre, appelle, nom, prenom, nom c est, prenom c est, nom de, nom de famille,
    nom de famille c est, nom est, prenom est, part de, dire a, parler a, demander a, je suis, bonjour, bonsoir, salut, merci, cher, chere, ici, au revoir`,
  articles:
    'le la les l un une des du au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs',
  ordinaryNames: `petit petite grand grande gros blanc blanche noir roux rouge brun brune vert bleu gris bon bonne beau bel belle jolie joli fort forte court long
    large jeune vieux ancien riche sage vaillant gentil doux fier content juste parfait fidele modeste desire aime grace rose claire clair victoire chance
    ange reine lucky noel mars mai avril juin dimanche midi nord sud est ouest point premier dernier tout place ville page pain vin bois fin fer gel sol sel
    bar bas ben van don droit garde noble cher ami cousin mer paris port pont part pas plus pour prix tard temps terre vide vie vrai maitre chef pire`,
};
