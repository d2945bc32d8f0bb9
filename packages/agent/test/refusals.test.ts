/** A task of protocol v2 that the policy of the agent does not allow, against a small API server. */
import { silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { kubernetesExecutor } from '../src/index.ts'
import { changed, policyWith, startTask } from './support/attempt-objects.ts'
import { openFakeKube } from './support/fake-kube.ts'

test('creates nothing of a task with one hostile field, and reports the field and the reason', async () => {
  await using kube = await openFakeKube()
  const open = kubernetesExecutor({ kube: kube.kube(), policy: policyWith(), starts: { perCore: 1 } })
  const executor = open({ report: () => undefined, clock: systemClock, log: silentLog })
  try {
    const hostile = changed(startTask(), 'secret', ['type'], 'kubernetes.io/service-account-token')
    const start = executor.start(hostile, new AbortController().signal)
    await expect(start).rejects.toMatchObject({
      code: 'policy-refused',
      message: expect.stringContaining('type: is "kubernetes.io/service-account-token", but must be "Opaque".'),
      details: { reason: 'policy-refused' },
    })
    expect(kube.calls.filter(({ method }) => method !== 'GET')).toEqual([])
  } finally {
    await executor.close()
  }
})
