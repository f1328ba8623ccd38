/** One value per key, remembered while the key lives: a resource is decided on many times between two edits. */
export function remembered<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known.value;
    const value = compute(key);
    values.set(key, { value });
    return value;
  };
}
