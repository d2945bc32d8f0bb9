import type { Forge, GitTrigger } from '@windlass/protocol'
import { isForge } from '../../forges/forge.ts'
import { isRegistry } from '../../registries/registries.ts'
import type { WebhookRow } from '../../store/schema/schema.ts'

/** A webhook that a forge calls. */
export type ForgeWebhook = WebhookRow & { readonly forge: Forge }

export function isForgeWebhook(webhook: WebhookRow): webhook is ForgeWebhook {
  return !isRegistry(webhook.forge)
}

/** Returns true if the trigger accepts events of the webhook: those of its context and forge, if it names them, and of a repository that the webhook accepts. */
export function accepts(
  { context, provider, repo }: Pick<GitTrigger, 'context' | 'provider' | 'repo'>,
  webhook: Pick<ForgeWebhook, 'forge' | 'context' | 'repo'>,
): boolean {
  if (provider !== undefined && !isForge(provider, webhook.forge)) return false
  if (webhook.repo !== null && webhook.repo !== repo.toLowerCase()) return false
  return context === undefined || context === webhook.context
}
