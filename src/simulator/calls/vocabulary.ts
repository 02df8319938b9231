/** Invented content: fixed words, and telephone numbers of the ranges that are reserved for fiction. */
export const words: readonly string[] =
  `bonjour madame monsieur oui non merci alors donc votre notre contrat dossier numéro client service appel facture
  date mois semaine jour heure matin soir demande rendez-vous adresse courrier compte paiement carte banque virement
  remboursement garantie assurance voiture maison appartement chauffage devis prix tarif offre remise option formule
  abonnement ligne mobile internet fibre boîtier panne technicien intervention délai livraison colis commande produit
  taille couleur modèle référence retour échange magasin agence conseiller responsable question réponse problème
  solution exactement parfait certainement peut-être toujours jamais souvent aujourd'hui demain hier bientôt ensuite
  avant après pendant depuis jusqu'à avec sans pour contre entre vers chez dans sur sous voilà d'accord entendu
  patientez instant vérifier confirmer annuler modifier enregistrer envoyer recevoir rappeler attendre comprendre
  expliquer proposer choisir accepter refuser quatre cinq six sept huit neuf dix vingt trente cent`
    .split(/\s+/)
    .filter((word) => word !== '');

export const campaigns: readonly string[] = Array.from({ length: 12 }, (_, i) => `campaign-${i + 1}`);
export const agents: readonly string[] = Array.from(
  { length: 40 },
  (_, i) => `agent-${String(i + 1).padStart(3, '0')}`,
);
export const depts: readonly string[] = ['SALES', 'SUPPORT', 'BILLING', 'RETENTION'];
export const otherStatuses: readonly string[] = ['unqualified', 'error'];

const tagNames = `appointment made,callback asked,complaint,price asked,competitor named,cancellation,new customer,
  upsell accepted,upsell refused,identity checked,greeting done,consent asked,technical fault,delivery late,
  refund asked,payment promised,wrong number,silence,transfer,escalation,satisfied,dissatisfied,urgent,follow-up`
  .split(',')
  .map((name) => name.trim());

type TagKind = { readonly unique_id: string; readonly display_name: string; readonly type: 'bool' | 'number' | 'text' };

/** Mostly bool, as in the interface; a tolerant reader must survive the others. */
export const tagKinds: readonly TagKind[] = tagNames.map((display_name, i) => ({
  unique_id: `7a6f0000-0000-4000-8000-${String(i + 1).padStart(12, '0')}`,
  display_name,
  type: i === 22 ? 'number' : i === 23 ? 'text' : 'bool',
}));

/** A French number from a range kept for fiction (01 99 00 xx xx, 06 39 98 xx xx), without plus sign. */
export const phoneNumber = (random: number): string => {
  const last = Math.floor(random * 20_000);
  return `${last < 10_000 ? '3319900' : '3363998'}${String(last % 10_000).padStart(4, '0')}`;
};
