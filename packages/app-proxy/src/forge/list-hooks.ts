/** The webhooks of a repository at a forge. */
import { FORGE_HOOKS, HOOKS_OF_PAGE, MAX_HOOK_PAGES, type ForgeHook } from '@windlass/forges'
import { fault } from '@windlass/kit'
import type { ForgeSession } from './session.ts'

/** Lists all of them. The rights at the forge count: only its owners of the repository see webhooks. */
export async function listHooks(session: ForgeSession, repo: string): Promise<ForgeHook[]> {
  const { integration } = session
  const found: ForgeHook[] = []
  for (let number = 1; number <= MAX_HOOK_PAGES; number += 1) {
    const { path, read } = FORGE_HOOKS[integration.provider].page(repo, number)
    const hooks = read((await session.page(session.at(path))).body)
    if (hooks === undefined)
      throw fault('forge-refused', {
        message: `The answer of ${new URL(integration.url).hostname} is not a list of webhooks.`,
        hint: 'Check the URL of the integration.',
      })
    found.push(...hooks)
    if (hooks.length < HOOKS_OF_PAGE) break
  }
  return found
}
