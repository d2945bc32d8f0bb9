/** Parts of the page that are loaded when they are needed. */
import { lazy, type ComponentType } from 'react'
import { onReturn, silence, tryNow } from '../server/away.ts'

const KEY = 'windlass.reloaded'

/** Returns a component that is loaded when it is rendered for the first time. A `Suspense` shows what stands there until then. */
export function late<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return lazy(async () => ({ default: await loadPart(load) }))
}

/**
 * Loads a part. Waits for the server while it does not answer. A part that the server no longer has belongs to an older page: the page is then loaded
 * again at the same address, once.
 */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch {
    await tryNow()
    if (silence.get() !== undefined) await returned()
  }
  try {
    return await load()
  } catch (error) {
    const shown = `${document.querySelector<HTMLScriptElement>('script[src]')?.src} ${location.href}`
    if (sessionStorage.getItem(KEY) === shown) throw error
    sessionStorage.setItem(KEY, shown)
    location.reload()
    // The page goes away; nothing is rendered any more.
    return new Promise<never>(() => undefined)
  }
}

/** Resolves once the server answers again. */
function returned(): Promise<void> {
  return new Promise((resolve) => {
    const end = onReturn(() => {
      end()
      resolve()
    })
  })
}
