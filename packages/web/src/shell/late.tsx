/** Parts of the page that are loaded when they are needed. */
import { createElement, lazy, useState, type ComponentType, type FunctionComponent } from 'react'
import { onReturn, reportSilence } from '../server/away.ts'

const KEY = 'windlass.reloaded'

/** A component that is loaded when it is rendered for the first time. A `Suspense` shows what stands there until then. */
export interface Late<P> extends FunctionComponent<P> {
  /** Loads it ahead. After a failure it is loaded when it is rendered. */
  readonly preload: () => void
}

export function late<P extends object>(load: () => Promise<ComponentType<P>>): Late<P> {
  let loaded: ComponentType<P> | undefined
  const keep = async (): Promise<ComponentType<P>> => (loaded = await load())
  const Lazy = lazy(async () => ({ default: await loadPart(keep) }))
  const Part: FunctionComponent<P> = (props) => {
    // Without a promise: React shows what stands in for one for at least 300 ms. The component of one place never changes.
    const [type] = useState<ComponentType<P>>(() => loaded ?? Lazy)
    return createElement(type, props)
  }
  return Object.assign(Part, { preload: () => void keep().catch(() => undefined) })
}

/** Styles that did not arrive. A part that is loaded again does not ask for them again. */
const missing = new Set<HTMLLinkElement>()
addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLLinkElement && target.rel === 'stylesheet') missing.add(target)
  },
  true,
)

async function loadMissingStyles(): Promise<void> {
  await Promise.all([...missing].map(loadStyles))
}

function loadStyles(link: HTMLLinkElement): Promise<void> {
  const again = document.createElement('link')
  again.rel = 'stylesheet'
  again.href = link.href
  return new Promise((resolve, reject) => {
    again.addEventListener('load', () => {
      missing.delete(link)
      link.remove()
      resolve()
    })
    again.addEventListener('error', () => {
      missing.delete(again)
      again.remove()
      reject(new Error(`The styles ${link.href} did not arrive.`))
    })
    document.head.append(again)
  })
}

const TRIES = 3
const WAIT_MS = 500

/**
 * Loads a part. Waits for the server while it does not answer. If the server has a newer page, the part may be gone: the page is then loaded again at
 * the same address, once.
 */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      await loadMissingStyles()
      return await load()
    } catch (error) {
      const newest = await readScript()
      const isNewer = newest !== document.querySelector('script[type=module]')?.getAttribute('src')
      if (isNewer && sessionStorage.getItem(KEY) !== newest) {
        sessionStorage.setItem(KEY, newest)
        location.reload()
        // The page goes away; nothing is rendered any more.
        return new Promise<never>(() => undefined)
      }
      if (isNewer || tries === TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS * tries))
    }
  }
}

/** Returns the script of the page that the server has now. Waits until it answers. */
async function readScript(): Promise<string> {
  for (;;) {
    try {
      const answer = await fetch(location.pathname, { headers: { accept: 'text/html' }, cache: 'no-store' })
      if (answer.ok) return /<script type="module"[^>]* src="([^"]+)"/.exec(await answer.text())?.[1] ?? ''
    } catch {
      // The server is away.
    }
    const back = returned()
    reportSilence()
    await back
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
