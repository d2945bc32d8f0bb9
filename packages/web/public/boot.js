/** Sets the theme and the density before the first paint, so that the page never shows the other theme. */
try {
  const { theme, density } = JSON.parse(localStorage.getItem('windlass.looks') ?? '{}')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  if (density === 'compact') document.documentElement.dataset.density = density
} catch {
  // Storage is blocked or holds something else; the theme of the system is used.
}

/** Longest time within which the reloads count. Milliseconds. */
const RELOADS_WITHIN_MS = 60_000
const MOST_RELOADS = 3
const RELOADS_KEY = 'windlass.reloads'

/** Returns how often this tab was just reloaded by itself. */
function readReloads() {
  const { at = 0, count = 0 } = JSON.parse(sessionStorage.getItem(RELOADS_KEY) ?? '{}')
  return Date.now() - at < RELOADS_WITHIN_MS ? count : 0
}

function sayNotLoaded() {
  const root = document.body.firstElementChild
  if (root !== null && root.querySelector(':scope > :not(.late)') === null)
    root.textContent = 'The page could not be loaded completely. Check the connection to the server, and reload the page.'
}

/**
 * Reloads a document whose script or styles did not arrive, which would stay empty: the connection was interrupted, or the server has a newer page. Later
 * parts are asked for again by the page itself.
 */
function loadAgain() {
  removeEventListener('error', onMissing, true)
  try {
    const reloads = readReloads()
    if (reloads < MOST_RELOADS) {
      sessionStorage.setItem(RELOADS_KEY, JSON.stringify({ at: Date.now(), count: reloads + 1 }))
      setTimeout(() => location.reload(), 500 * 2 ** reloads)
      return
    }
  } catch {
    // Without storage, reloads could not be counted.
  }
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', sayNotLoaded)
  else sayNotLoaded()
}

function onMissing({ target }) {
  if (target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel === 'stylesheet')) loadAgain()
}

// Errors of elements do not bubble. After the load, the page handles what is missing.
addEventListener('error', onMissing, true)
addEventListener('load', () => removeEventListener('error', onMissing, true))
