import type { GitTrigger } from '@windlass/protocol'
import { isForge } from '../forges/forge.ts'
import type { WebhookRow } from '../store/schema.ts'

/** Returns true if the trigger accepts events of the webhook: those of its context and forge, if it names them, and of a repository that the webhook accepts. */
export function accepts(
  { context, provider, repo }: Pick<GitTrigger, 'context' | 'provider' | 'repo'>,
  webhook: Pick<WebhookRow, 'forge' | 'context' | 'repo'>,
): boolean {
  if (provider !== undefined && !isForge(provider, webhook.forge)) return false
  if (webhook.repo !== null && webhook.repo !== repo.toLowerCase()) return false
  return context === undefined || context === webhook.context
}
