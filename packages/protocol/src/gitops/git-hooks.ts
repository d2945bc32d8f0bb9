/** The webhooks of repositories at a forge behind the firewall, as the calls of an app-proxy have them. */
import { z } from 'zod'

/** A webhook of a repository at its forge. */
export const GitHook = z.object({ id: z.string(), url: z.string() })
export type GitHook = z.infer<typeof GitHook>

/** `repo` is `owner/name`. */
export const GitHookQuery = z.object({ repo: z.string() })
export const GitHookInput = GitHookQuery.extend({ url: z.string(), secret: z.string() })
export const GitHookRefresh = GitHookQuery.extend({ url: z.string() })
