/** `get applications` and `describe application` against a real server. */
import { expect, test } from 'vitest'
import { argoApplication, COMMIT, event, openReporter } from '../../../server/test/support/fakes/application-reporter.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

/** Replaces what differs between two runs. */
function fixed(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*/g, 'TIME')
    .replaceAll(/\(\d+[a-z]+ ago\)/g, '(AGE ago)')
    .replaceAll(/\b\d+(?:s|m|h|d|y)\b/g, 'AGE')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/ +$/gm, '')
}

test('applications are listed with why they are not as they should be, and described with their resources (O058)', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const at = Date.now()
  const deployment = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'api' }
  const broken = argoApplication('shop', {
    health: 'Degraded',
    sync: 'OutOfSync',
    project: 'retail',
    createdAt: at - 3_600_000,
    status: {
      operationState: {
        phase: 'Succeeded',
        startedAt: '2026-01-10T08:00:00Z',
        finishedAt: '2026-01-10T08:00:20Z',
        operation: { initiatedBy: { username: 'mira' } },
      },
      resources: [
        { kind: 'Service', namespace: 'shop', name: 'api', status: 'Synced', health: { status: 'Healthy' } },
        {
          ...deployment,
          status: 'OutOfSync',
          health: { status: 'Degraded', message: 'Deployment "api" exceeded its progress deadline' },
        },
        { kind: 'ConfigMap', namespace: 'shop', name: 'old', status: 'OutOfSync', requiresPruning: true },
      ],
    },
  })
  await openReporter(
    scene,
    token,
  )({ data: [event(broken, at), event(argoApplication('web', { createdAt: at - 3_600_000 }), at)] })
  const list = await windlass(scene, ['get', 'applications'])
  expect(list.code).toBe(0)
  expect(fixed(list.text)).toMatchInlineSnapshot(`
    "RUNTIME  NAMESPACE  NAME  PROJECT  HEALTH  SYNC  REVISION  SINCE  AGE  WHY
    prod  argocd  shop  retail  degraded  out-of-sync  0123456789ab  AGE  AGE  Deployment api is degraded: Deployment "api" exceeded its progress deadline. 2 of 3 resources differ from revision 01234567: Deployment api, ConfigMap old (to be deleted). Argo CD syncs automatically.
    prod  argocd  web  default  healthy  synced  0123456789ab  AGE  AGE
    "
  `)
  const described = await windlass(scene, ['describe', 'application', 'prod/argocd/shop'])
  expect(described.code).toBe(0)
  expect(fixed(described.text)).toMatchInlineSnapshot(`
    "Application:  prod/argocd/shop
    Id:  ID
    Why:  Deployment api is degraded: Deployment "api" exceeded its progress deadline. 2 of 3 resources differ from revision 01234567: Deployment api, ConfigMap old (to be deleted). Argo CD syncs automatically.
    Health:  degraded
    Sync:  out-of-sync (automatic)
    Since:  TIME (AGE ago)
    Revision:  0123456789abcdef0123456789abcdef01234567
    Last sync:  succeeded in 20.0 s (by mira)
    Project:  retail
    Source:  https://git.test/acme/shop.git shop at main
    Destination:  https://kubernetes.default.svc/shop
    Images:  registry.test/shop:1
    Reported:  TIME (AGE ago)
    Created:  TIME

    KIND  NAMESPACE  NAME  HEALTH  SYNC  MESSAGE
    Deployment.apps  shop  api  degraded  out-of-sync  Deployment "api" exceeded its progress deadline
    ConfigMap  shop  old  out-of-sync  not in the source
    Service  shop  api  healthy  synced
    "
  `)
  expect((await windlass(scene, ['get', 'applications', '--status', 'degraded', '-o', 'name'])).text).toBe(
    'application/prod/argocd/shop\n',
  )
  expect((await windlass(scene, ['get', 'applications', '--sync', 'synced', '--runtime', 'prod', '-o', 'name'])).text).toBe(
    'application/prod/argocd/web\n',
  )
  expect((await windlass(scene, ['describe', 'application', 'prod/argocd/shop', '-o', 'json'])).text).toContain(`"${COMMIT}"`)
  expect((await windlass(scene, ['get', 'applications', 'prod/argocd/sho'])).text).toContain('Did you mean "prod/argocd/shop"?')
  expect(await windlass(scene, ['get', 'applications', '--sync', 'strange'])).toMatchObject({ code: 2 })
  expect((await windlass(scene, ['delete', 'applications', 'prod/argocd/shop'])).code).toBe(2)
})
