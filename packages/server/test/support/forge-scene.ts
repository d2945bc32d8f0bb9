/** Webhook calls for tests, signed as a forge signs them. */
import { createHmac } from 'node:crypto'
import { PipelineInput, TriggerInput, type PipelineTrigger, type WebhookCreated, type WebhookInput } from '@windlass/protocol'
import type { App } from '../../src/app.ts'
import { putPipeline } from '../../src/pipelines/pipelines.ts'
import { createTrigger } from '../../src/triggers/triggers.ts'
import { receiveDelivery } from '../../src/triggers/deliveries/receive.ts'
import { createWebhook } from '../../src/triggers/webhooks.ts'
import { HELLO } from './scene.ts'

export async function addWebhook(app: App, input: Partial<WebhookInput> = {}): Promise<WebhookCreated> {
  return createWebhook(app, { name: 'forge', forge: 'github', ...input })
}

export async function addPipeline(app: App, name: string, more: object = {}): Promise<void> {
  await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO, ...more }), precondition: {} })
}

export async function addTrigger(app: App, pipeline: string, more: object = {}): Promise<PipelineTrigger> {
  const input = TriggerInput.parse({ pipeline, name: 'push', repo: 'acme/app', events: ['push'], ...more })
  return createTrigger(app, { input })
}

export interface GithubCall {
  /** Gitea sends bodies of the same form. */
  readonly forge?: 'github' | 'gitea'
  readonly event?: string
  readonly id?: string
}

let calls = 0

/** Returns the headers and the body of a signed call of GitHub. A text is sent as it is, other bodies as JSON. */
export function githubCall(
  { secret }: Pick<WebhookCreated, 'secret'>,
  body: unknown,
  { event = 'push', id = `call-${(calls += 1)}`, forge = 'github' }: GithubCall = {},
): { headers: Record<string, string>; body: Buffer } {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const signature = createHmac('sha256', secret).update(bytes).digest('hex')
  const headers = {
    'content-type': 'application/json',
    [`x-${forge}-event`]: event,
    [`x-${forge}-delivery`]: id,
    ...(forge === 'github' ? { 'x-hub-signature-256': `sha256=${signature}` } : { 'x-gitea-signature': signature }),
  }
  return { headers, body: bytes }
}

/** Delivers an event of GitHub without HTTP. */
export async function deliver(
  app: App,
  webhook: WebhookCreated,
  body: unknown,
  call: GithubCall = {},
): Promise<{ id: string; isRepeat: boolean }> {
  return receiveDelivery(app, { webhook: webhook.id, ...githubCall(webhook, body, call) })
}
