/** Calls of a webhook over HTTP, as a forge sends them, for the tests of the page. */
import { DeliveryReceipt, type Delivery, type WebhookCreated } from '@windlass/protocol'
import { expect, vi } from 'vitest'
import { githubCall, type GithubCall } from '../../../packages/server/test/support/forge-scene.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'

/** Sends a call, with a wrong secret if one is given. Returns its answer. */
export async function sendCall(
  { url, secret }: Pick<WebhookCreated, 'url' | 'secret'>,
  body: unknown,
  call: GithubCall & { readonly wrongSecret?: string } = {},
): Promise<Response> {
  const { headers, body: bytes } = githubCall({ secret: call.wrongSecret ?? secret }, body, call)
  return fetch(url, { method: 'POST', headers, body: bytes.toString() })
}

/** Sends a call and waits until it is processed. */
export async function deliverEvent(
  scene: HttpScene,
  webhook: WebhookCreated,
  body: unknown,
  call: GithubCall = {},
): Promise<Delivery> {
  const { id } = DeliveryReceipt.parse(await (await sendCall(webhook, body, call)).json())
  // Scenes call this before their tests, where `expect.poll` does not work.
  await vi.waitFor(async () => expect((await scene.admin.deliveries.get(id)).status).toBe('processed'), { timeout: 60_000 })
  return scene.admin.deliveries.get(id)
}
