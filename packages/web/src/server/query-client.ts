/** The cache of what the server said. */
import { faults, isFault } from '@windlass/kit/faults'
import { QueryClient } from '@tanstack/react-query'

const MAX_RETRIES = 3
/** How long an answer counts as current while the stream reports changes, and while it does not. Milliseconds. */
const STALE_MS = { live: 30_000, silent: 5_000 } as const

/** Returns true for a fault after which the same call may succeed. The wait for a silent server is not counted here: its return repeats all calls. */
function isWorthRepeating(error: unknown): boolean {
  return isFault(error) && (faults[error.code] as { readonly retry?: true }).retry === true
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS.silent,
      gcTime: 10 * 60_000,
      retry: (count, error) => count < MAX_RETRIES && isWorthRepeating(error),
      retryDelay: (count, error) => {
        const seconds = isFault(error) ? error.details.retryAfter : undefined
        return typeof seconds !== 'number' ? Math.min(500 * 2 ** count, 5_000) * (0.5 + Math.random()) : seconds * 1_000
      },
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
