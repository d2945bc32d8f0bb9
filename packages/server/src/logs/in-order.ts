/**
 * Yields the results of `work` in the order of the items. At most `width` calls run at once; the next one starts when the caller has taken a result.
 * Throws the first error in this order.
 */
export async function* inOrder<T, R>(items: Iterable<T>, width: number, work: (item: T) => Promise<R>): AsyncGenerator<R> {
  const running: Promise<R>[] = []
  for (const item of items) {
    const result = work(item)
    // Awaited later, or never if an earlier call fails.
    result.catch(() => undefined)
    running.push(result)
    if (running.length < width) continue
    const first = running.shift()
    if (first !== undefined) yield await first
  }
  for (const result of running) yield await result
}
