/** The cache of what the server said. */
import { faults, isFault } from '@windlass/kit/faults'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'

const MAX_RETRIES = 3
/** A call that the server wants to be repeated later than this is shown as a problem instead of being repeated. Seconds. */
const LONGEST_WAIT_S = 5
/** How long an answer counts as current. Milliseconds. */
const STALE_MS = 5_000

/** Returns true for a fault after which the same call may succeed. The wait for a silent server is not counted here: its return repeats all calls. */
export function isWorthRepeating(error: unknown): boolean {
  if (!isFault(error) || (faults[error.code] as { readonly retry?: true }).retry !== true) return false
  const { retryAfter } = error.details
  return typeof retryAfter !== 'number' || retryAfter <= LONGEST_WAIT_S
}

/** A call without a valid session asks who is signed in again, so that the page can ask for a sign-in. */
function noteFault(error: unknown, queryKey: readonly unknown[] = []): void {
  if (isFault(error, 'unauthenticated') && queryKey[0] !== 'session')
    void queryClient.invalidateQueries({ queryKey: ['session'] }, { cancelRefetch: false })
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, { queryKey }) => noteFault(error, queryKey) }),
  mutationCache: new MutationCache({ onError: (error) => noteFault(error) }),
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
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
