/** Pull requests of promotions. */
import { FORGE_PULLS, type ForgePulls, type NewPull, type PullPlace, type PullRequest } from '@windlass/forges'
import { fault, isFault } from '@windlass/kit'
import type { Pull } from '@windlass/protocol'
import { readList } from '../forge/browse.ts'
import type { ForgeSession } from '../forge/session.ts'

/** Throws `request-invalid` if the forge of a session has no pull requests that are known here. */
function pullsOf({ integration }: ForgeSession): ForgePulls {
  const pulls = FORGE_PULLS[integration.provider]
  if (pulls !== undefined) return pulls
  throw fault('request-invalid', {
    message: `Promotions cannot be pull requests at a forge of the kind ${integration.provider}.`,
    hint: 'Use the action commit for this environment.',
  })
}

/** Returns the pull request of a branch, in any state; undefined if there is none. */
export async function findPull(session: ForgeSession, place: PullPlace): Promise<Pull | undefined> {
  const found = await readList(session, pullsOf(session).of(place), undefined).catch((error: unknown) => {
    if (isFault(error, 'not-found')) return undefined
    throw error
  })
  const [first] = found?.items ?? []
  return first && toPull(first)
}

/** Creates a pull request, unless an earlier call did. */
export async function ensurePull(session: ForgeSession, pull: NewPull): Promise<Pull> {
  const { path, body, read } = pullsOf(session).create(pull)
  try {
    const made = read(await session.post(path, body))
    if (made !== undefined) return toPull(made)
  } catch (error) {
    // Forges refuse a second one of the same branch in different ways.
    const existing = await findPull(session, pull)
    if (existing !== undefined) return existing
    throw error
  }
  throw fault('forge-refused', {
    message: `${new URL(session.integration.url).hostname} does not say which pull request it has made.`,
  })
}

/** Returns the state of a pull request. Throws `not-found`. */
export async function readPull(session: ForgeSession, repo: string, number: number): Promise<PullRequest> {
  return session.one(pullsOf(session).one(repo, number))
}

function toPull({ number, url }: PullRequest): Pull {
  return { number, url }
}
