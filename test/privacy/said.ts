/** An utterance with its words, as the service sends it. */
export const said = (content: string, from = 'out') => ({
  from,
  words: content.split(' ').map((value, start) => ({ score: 0.9, start, value, length: 0.5 })),
  content,
});
