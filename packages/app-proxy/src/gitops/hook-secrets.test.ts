/** The Secrets of webhooks in a cluster: whose they are, and what the audit log has of them. */
import { silentLog } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { expect, onTestFinished, test } from 'vitest'
import { NAMESPACE, startKubeApi, type KubeApi } from '../../test/support/kube-api.ts'
import { inCall, type NotedCall } from '../audit/call.ts'
import { openHookSecrets, type HookOwner, type HookSecrets } from './hook-secrets.ts'

const SHOP: HookOwner = { name: 'shop', gitSource: 'apps', repository: 'https://git.test/acme/shop' }

async function openCluster(): Promise<{ readonly secrets: HookSecrets; readonly objects: KubeApi['objects'] }> {
  const api = await startKubeApi()
  onTestFinished(() => api[Symbol.asyncDispose]())
  const access = { server: api.url, insecure: false, namespace: NAMESPACE }
  return { secrets: openHookSecrets(openKube({ access, log: silentLog }), NAMESPACE), objects: api.objects }
}

test('a Secret is made once, as an effect of its call, knows its webhook, and is gone when it is removed', async () => {
  const { secrets, objects } = await openCluster()
  const first: NotedCall = { commits: [] }
  const again: NotedCall = { commits: [] }
  const made = await inCall(first, () => secrets.ensure(SHOP))
  expect(made).toEqual({ token: expect.stringMatching(/^[0-9a-f]{64}$/), isNew: true, webhook: undefined })
  expect(await inCall(again, () => secrets.ensure(SHOP))).toEqual({ ...made, isNew: false })
  expect([first.hasEffect, again.hasEffect]).toEqual([true, undefined])
  await secrets.noteWebhook('shop', 'https://runtime.test/webhooks/x/shop')
  expect(await secrets.ensure(SHOP)).toEqual({ ...made, isNew: false, webhook: 'https://runtime.test/webhooks/x/shop' })
  await secrets.remove('shop')
  await secrets.remove('shop')
  expect([...objects.keys()]).toEqual([])
})

test('the Secret of another repository or Git source is refused', async () => {
  const { secrets, objects } = await openCluster()
  const { token } = await secrets.ensure(SHOP)
  const before = structuredClone([...objects])
  for (const other of [
    { ...SHOP, repository: 'https://git.test/eve/shop' },
    { ...SHOP, gitSource: 'eve' },
  ])
    await expect(secrets.ensure(other)).rejects.toMatchObject({ code: 'conflict', message: expect.not.stringContaining(token) })
  expect([...objects]).toEqual(before)
})
