/** Bytes of JSON. */
export const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a] as const;
export const [minus, dot, zero, nine] = [0x2d, 0x2e, 0x30, 0x39] as const;
export const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d] as const;
export const isBlank = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
