/** Routes that list what a forge has for the owner of a Git token. */
import type { Listing } from '@windlass/forges'
import { z } from 'zod'
import { branchesOf, readFile, readList, type ListPage } from '../forge/browse.ts'
import type { ForgeSession } from '../forge/session.ts'
import { ByName, Cursor, Ref, RepoName, RepoPath } from './fields.ts'
import { route, type Call, type Route } from './route.ts'

const Paged = z.strictObject({ cursor: Cursor.optional() })
const OfRepo = Paged.extend({ repo: RepoName })
const AtRef = OfRepo.extend({ ref: Ref.optional(), path: RepoPath.default('') })

/** Opens a forge with the token of the caller. */
export type OpenSession = (
  call: Pick<Call<{ name: string }, unknown, unknown>, 'params' | 'caller' | 'signal'>,
) => Promise<ForgeSession>

export function browseRoutes(open: OpenSession): Route[] {
  /** Creates a route that returns a list in pages. */
  function list<Q extends z.ZodType<{ cursor?: string | undefined }>, T>(
    what: string,
    query: Q,
    listingOf: (session: ForgeSession, query: z.output<Q>) => Listing<T>,
  ): Route {
    return route('GET', `/git-integrations/{name}/${what}`, {
      right: 'see-gitops',
      params: ByName,
      query,
      async handle(call): Promise<ListPage<T>> {
        const session = await open(call)
        return readList(session, listingOf(session, call.query), call.query.cursor)
      },
    })
  }

  return [
    list('organizations', Paged, ({ browser }) => browser.organizations()),
    list(
      'repositories',
      Paged.extend({ organization: z.string().min(1).max(250).optional(), search: z.string().min(1).max(100).optional() }),
      ({ browser }, { organization, search }) => browser.repositories({ organization, search }),
    ),
    list('branches', OfRepo, (session, { repo }) => branchesOf(session, repo)),
    list('tags', OfRepo, ({ browser }, { repo }) => browser.tags(repo)),
    list('commits', AtRef, ({ browser }, { repo, ref, path }) => browser.commits({ repo, ref, path })),
    list('tree', AtRef, ({ browser }, { repo, ref, path }) => browser.tree({ repo, ref, path })),
    route('GET', '/git-integrations/{name}/file', {
      right: 'see-gitops',
      params: ByName,
      query: z.strictObject({
        repo: RepoName,
        ref: Ref.optional(),
        path: RepoPath.refine((path) => path !== '', 'must not be empty'),
      }),
      handle: async (call) => readFile(await open(call), { ref: undefined, ...call.query }),
    }),
    route('GET', '/git-integrations/{name}/repository', {
      right: 'see-gitops',
      params: ByName,
      query: z.strictObject({ repo: RepoName }),
      async handle(call) {
        const session = await open(call)
        return session.one(session.browser.repository(call.query.repo))
      },
    }),
  ]
}
