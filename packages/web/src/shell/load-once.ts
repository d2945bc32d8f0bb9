/** Loads chunks of the page. A chunk that is gone belongs to an older page: the page is then loaded again, once. */
const KEY = 'windlass.reloaded-at'

/** Loads a chunk. Reloads the page at the same address if that fails, unless it has just done so. */
export async function loadOnce<T>(load: () => Promise<T>): Promise<T> {
  try {
    const loaded = await load()
    sessionStorage.removeItem(KEY)
    return loaded
  } catch (error) {
    if (sessionStorage.getItem(KEY) === location.href) throw error
    sessionStorage.setItem(KEY, location.href)
    location.reload()
    // The page goes away; nothing is rendered any more.
    return new Promise<never>(() => undefined)
  }
}
