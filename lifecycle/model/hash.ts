/** 64 bits of the words, as two numbers; equal words give equal numbers, others do for one pair in 2^64. */
export function hashWords(words: Int32Array, out: Int32Array): void {
  let a = 0x9e3779b9 | 0;
  let b = 0x7f4a7c15 | 0;
  for (let i = 0; i < words.length; i += 1) {
    const w = words[i] ?? 0;
    a = Math.imul(a ^ w, 0x85ebca6b);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b + w, 0xc2b2ae35);
    b ^= b >>> 15;
  }
  a = Math.imul(a ^ (a >>> 16) ^ words.length, 0x7feb352d);
  b = Math.imul(b ^ (b >>> 13) ^ a, 0x846ca68b);
  out[0] = a ^ (a >>> 15);
  out[1] = b ^ (b >>> 16);
}
