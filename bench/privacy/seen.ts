/** The half of the conversations that detectors may be tuned on; see `withheld.ts`. */
import type { Talk } from './conversations.ts';

export const seen: Talk = {
  acknowledgements: {
    fr: ['oui', "d'accord", 'ok', 'je note', 'ensuite', 'entendu', 'hum hum'],
    en: ['yes', 'okay', 'yeah', 'sure', 'next', 'right go on'],
  },
  interruptions: {
    fr: [
      'un instant mon ordinateur redémarre',
      'ne quittez pas je vous reprends tout de suite',
      'vous pouvez parler plus fort s il vous plaît',
      "excusez-moi je n'ai pas bien entendu",
    ],
    en: ['one moment please I need to open your file', 'could you speak up a little', 'sorry I missed that last bit'],
  },
  hesitations: { fr: ['euh', 'hum', 'alors', 'donc'], en: ['uh', 'um', 'okay', 'so'] },
  values: {
    phone: [
      '> quel est le meilleur numéro\n{hesitation} {phone fr-pairs 1-3}\n> {ack}\n{phone fr-pairs 4-5}',
      '{phone fr-pairs 1-2}\n> {interruption}\n{phone fr-pairs 3-5}',
      '{phone fr-pairs 1-4} {wrong fr-pairs} euh non {phone fr-pairs 5-5}',
      '> donc {phone fr-pairs 1-3}\nvoilà\n> {phone fr-pairs 4-5}\nexactement',
      'rappelez au {phone colons} ou au bureau',
      'le fax est le {phone underscored} désormais',
      '{phone fr-loose} le matin seulement',
      '{phone fr-pairs 1-1} {hesitation} {phone fr-pairs 2-5}',
      '> {phone fr-pairs 1-4} et après\n{phone fr-pairs 5-5}',
      'ring me on {phone-gb en-digits} tomorrow',
      '{phone-gb en-double 1-1}\n> {ack}\n{phone-gb en-double 2-2}',
    ],
    card: [
      '{card fr-pairs 1-1}\n> {interruption}\n{card fr-pairs 2-4}',
      'je paie avec {card spaced} si possible',
      '{card en-digits 1-3}\n> {ack}\n{card en-digits 4-4}',
      'my visa is {card spaced}',
    ],
    cvv: [
      '> et le code de sécurité au dos\n{hesitation} {cvv fr-digits}',
      'le cryptogramme {cvv plain}',
      '> and the cvv number\nit says {cvv en-digits}',
    ],
    iban: [
      '{iban fr-pairs 1-5}\n> {interruption}\n{iban fr-pairs 6-20}',
      'notre rib est {iban spaced}',
      'the iban is {iban spelled}',
    ],
    email: [
      '{email fr-spoken 1-1}\n> oui\n{email fr-spoken 2-3}',
      'mon mail est {email encoded} sans majuscule',
      '> quelle adresse mail\n{email fr-spelled}',
      'send it to {email en-spoken} thanks',
      '{email fr-spoken 1-1}\n> {interruption}\n{email fr-spoken 2-3} merci',
      "c'est tout simple {email fr-spoken} sans espace",
      '> and what is the address\n{email en-spelled}',
      'on peut écrire chez {email fr-spoken}',
      '{email en-spoken 1-1}\n> yes\n{email en-spoken 2-3}',
    ],
    nir: [
      '{nir fr-pairs 1-2}\n> {interruption}\n{nir fr-pairs 3-7}',
      '{nir fr-pairs 1-4}\n> {ack}\n{nir fr-pairs 5-7}\n> {ack}',
      'ma sécurité sociale {nir short}',
      'le numéro de sécurité sociale {nir fr-loose}',
      '{nir fr-pairs 1-5} {hesitation} {nir fr-pairs 6-7} voilà',
      '> votre numéro de sécu sans la clé\n{nir short}',
    ],
    birth: [
      '> né quand\nle {birth fr-words}',
      'date de naissance {birth slashed}',
      '> date of birth please\n{birth en-text}',
    ],
  },
  harmless: {
    fr: [
      'la commande {order spaced} est partie',
      'une taille {size} ou {size} ça dépend',
      'dans le {department} comme dans le {department}',
      'le meuble fait {measure}',
      "c'était {date} vers {time}",
      'il reste {amount} à payer',
      'référence {serial} au catalogue',
      'je regarde sur amazon point com',
      'le numéro de suivi {tracking}',
    ],
    en: [
      'order {order en-digits} has shipped',
      'a {size} or maybe a {size}',
      'we met {date} around {time}',
      'I saw it at ebay dot com',
      'reference {serial} in the catalogue',
      'that is {amount} in total',
      'they sell it at amazon dot com cheaper',
    ],
  },
};
