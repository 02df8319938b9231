/** `-0012.500`, `+12.5` and `12.5e0` are one number: plain digits without needless zeros. Undefined for a text that is none. */
export const plainDecimal = (text: string): string | undefined => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?$/.exec(text.trim()) ?? [];
  const digits = whole + fraction;
  if (digits === '') return undefined;
  const point = whole.length + Number(exponent);
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const cut = Math.max(1, point);
  const integer = padded.slice(0, cut).replace(/^0+(?=\d)/, '');
  const rest = padded.slice(cut).replace(/0+$/, '');
  const plain = rest === '' ? integer : `${integer}.${rest}`;
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
};
