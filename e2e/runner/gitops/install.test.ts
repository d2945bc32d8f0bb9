/** A GitOps runtime from the command line, on the real cluster: installation, calls through the tunnel, policies, upgrade, rollback, removal. */
import { setInterval } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addNamespace } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { enforcePolicies } from '../../support/network-policies.ts'
import { addressValues, askFromPod, openGitopsScene, serviceAddress, type Finished, type GitopsScene } from './scene.ts'

const NAMESPACE = `gitops-${process.pid}`
const OTHER = `gitops-${process.pid}-b`
const ADDRESS = serviceAddress(0)
const LIST = '/app-proxy/api/git-integrations'

let scene: GitopsScene
let values = ''
beforeAll(async () => {
  scene = await openGitopsScene()
  values = await scene.helm.values(addressValues(scene, ADDRESS))
})
afterAll(async () => {
  if (scene === undefined) return
  for (const namespace of [NAMESPACE, OTHER]) {
    await scene.helm.run('uninstall', 'windlass-gitops-runtime', '--namespace', namespace, '--ignore-not-found').catch(() => '')
    await scene.cluster.kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--timeout=90s')
  }
  await scene[Symbol.asyncDispose]()
})

const kubectl = (...args: string[]): Promise<string> => scene.cluster.kubectl('--namespace', NAMESPACE, ...args)
const gitops = (command: string, ...args: string[]): Promise<Finished> =>
  scene.windlass('gitops', command, 'prod', '--kube-namespace', NAMESPACE, ...args)

async function succeed(running: Promise<Finished>): Promise<Finished> {
  const finished = await running
  if (finished.code !== 0)
    throw new Error(`${finished.stderr}\n${await kubectl('get', 'pods', '--output', 'wide')}\n${await logs()}`)
  return finished
}
const logs = (): Promise<string> =>
  kubectl('logs', '--selector', 'app.kubernetes.io/part-of=windlass-gitops-runtime', '--all-containers', '--prefix').catch(String)

/** The lines of the result, and of the notes, without ids, and without lines about pods that are not ready: their number depends on the machine. */
const shown = ({ stdout, stderr }: Finished): string =>
  `${stdout}${stderr}`
    .replaceAll(scene.accountId, 'ACCOUNT')
    .replaceAll(scene.url, 'SERVER')
    .replaceAll(scene.registerUrl, 'REGISTER')
    .replaceAll(NAMESPACE, 'NAMESPACE')
    .replace(/Kubernetes v[\d.]+/, 'Kubernetes VERSION')
    .replaceAll(/^  pod \S+ is not ready: .*\n/gm, '')

/** What the command prints. */
const INSTALLED = `gitops-runtime/prod installed
✓ server: the key "admin" may register GitOps runtimes
✓ version: Kubernetes VERSION
✓ rights: all 45 permissions are granted
! argo-cd: The namespace NAMESPACE has no server of Argo CD. Install Argo CD 3.0 or later: the runtime operates applications of its own namespace.
✓ token: created
✓ tunnel: REGISTER answers
Installing the release windlass-gitops-runtime in NAMESPACE (up to 5 min)
Callers reach it at https://ACCOUNT-prod.tunnels.test.
`

test('the command installs a runtime into a namespace of the level restricted, whose tunnel connects', async () => {
  const installed = await succeed(gitops('install', '--values', values))
  expect(shown(installed)).toBe(INSTALLED)
  expect(await scene.client.tunnels.get('prod')).toMatchObject({ status: 'online' })
  expect(await scene.cluster.kubectl('get', 'namespace', NAMESPACE, '--output', 'jsonpath={.metadata.labels}')).toContain(
    '"pod-security.kubernetes.io/enforce":"restricted"',
  )
  const pods = await kubectl('get', 'pods', '--output', 'jsonpath={.items[*].status.containerStatuses[*].name}')
  expect(pods.split(' ').toSorted()).toEqual(['app-proxy', 'reporter', 'router', 'tunnel-client'])
  // The key of the admin is not in the cluster.
  expect(await kubectl('get', 'secrets', '--output', 'yaml')).not.toContain(Buffer.from(scene.apiKey).toString('base64'))
})

test('callers reach the app-proxy through the tunnel while policies refuse all connections of other pods, also to metrics (O084)', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stranger', namespace: NAMESPACE },
    spec: {
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'main',
          image: `${scene.image.repository}:${scene.image.tag}`,
          command: ['sleep', '3600'],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
  await scene.cluster.apply(pod)
  await kubectl('wait', '--for=condition=Ready', 'pod/stranger', '--timeout=180s')
  const addressOf = (name: string): Promise<string> =>
    kubectl('get', 'pods', '--selector', `app.kubernetes.io/name=${name}`, '--output', 'jsonpath={.items[0].status.podIP}')
  const ask = (url: string): Promise<string> => askFromPod(scene.cluster, { namespace: NAMESPACE, name: 'stranger' }, url)
  const client = await addressOf('codefresh-tunnel-client')
  const proxy = await addressOf('cap-app-proxy')
  // The router listens on the loopback interface of its pod.
  expect(await ask(`http://${client}:8080/healthz`)).toBe('ECONNREFUSED')
  expect(await ask(`http://${proxy}:8080/api/healthz`)).toBe('200')
  const reporter = await addressOf('runtime-event-reporter')
  const metrics = [`${proxy}:9100`, `${reporter}:9100`, `${client}:8081`, `${client}:8082`].map((at) => `http://${at}/metrics`)
  for (const url of metrics) expect([url, await ask(url)]).toEqual([url, '200'])
  await using _policies = await enforcePolicies(scene.cluster, NAMESPACE)
  expect(await ask(`http://${proxy}:8080/api/healthz`)).toBe('ECONNREFUSED')
  for (const url of metrics) expect([url, await ask(url)]).toEqual([url, 'ECONNREFUSED'])
  expect(await scene.call('prod', '/app-proxy/api/healthz')).toMatchObject({ status: 200 })
  expect(await scene.call('prod', LIST)).toMatchObject({ status: 401 })
  const answer = await scene.call('prod', LIST, { authorization: scene.apiKey })
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { items: [] }])
  expect(await scene.call('prod', '/api/healthz')).toMatchObject({ status: 404 })
  await kubectl('delete', 'pod', 'stranger')
})

test('the image has git for the commits of the app-proxy', async () => {
  const name = await kubectl(
    'get',
    'pods',
    '--selector',
    'app.kubernetes.io/name=cap-app-proxy',
    '--output',
    'jsonpath={.items[0].metadata.name}',
  )
  const exec = (...command: string[]): Promise<string> => scene.cluster.exec({ namespace: NAMESPACE, name }, ...command)
  expect(await exec('git', '--version')).toMatch(/^git version 2\.(?:39|[4-9]\d)\./)
  await exec('git', 'init', '--quiet', '--bare', '/var/lib/windlass/repositories/try')
  // It loads its libraries, and the server is not a repository.
  const failure = exec('git', 'ls-remote', `${scene.url}/none.git`).then(() => 'listed', String)
  expect(await failure).toMatch(/not found|authentication|could not read Username|terminal prompts disabled/i)
})

test('a repeated installation keeps the token, and another runtime does not take its namespace or name', async () => {
  const before = await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')
  expect(shown(await succeed(gitops('install', '--values', values)))).toContain('✓ token: kept\n')
  expect(await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')).toBe(before)
  expect((await scene.client.gitopsRuntimes.tokens('prod')).items).toHaveLength(1)
  const second = await scene.windlass('gitops', 'install', 'dev', '--kube-namespace', NAMESPACE, '--values', values)
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringContaining(`The namespace ${NAMESPACE} has the GitOps runtime "prod".`),
  ])
  await addNamespace(scene.cluster, OTHER)
  const same = await scene.windlass('gitops', 'install', 'prod', '--kube-namespace', OTHER, '--values', values)
  expect([same.code, same.stderr]).toEqual([1, expect.stringContaining('another installation uses this one')])
  expect((await scene.client.gitopsRuntimes.tokens('prod')).items).toHaveLength(1)
  expect(await scene.cluster.kubectl('--namespace', OTHER, 'get', 'secrets', '--output', 'name')).toBe('')
  const wrong = await scene.windlass('gitops', 'install', 'Prod', '--kube-namespace', OTHER)
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('"Prod" is not the name of a GitOps runtime')])
})

test('an upgrade keeps token and values, a second pod takes over without a refused call, and a rollback returns to one (O074, O077)', async () => {
  const level = (): Promise<string> =>
    kubectl(
      'get',
      'deployment',
      'cap-app-proxy',
      '--output',
      'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="WINDLASS_APP_PROXY_LOG_LEVEL")].value}',
    )
  const before = await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')
  const twice = ['app-proxy', 'tunnel-client'].flatMap((part) => ['--set-value', `${part}.replicaCount=2`])
  const upgraded = await succeed(gitops('upgrade', '--set-value', 'app-proxy.config.logLevel=debug', ...twice))
  expect(upgraded.stdout).toBe('gitops-runtime/prod upgraded\n')
  expect(await level()).toBe('debug')
  await handOver()
  await scene.helm.run('rollback', 'windlass-gitops-runtime', '--namespace', NAMESPACE, '--wait', '--timeout', '300s')
  expect(await level()).toBe('info')
  expect(await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')).toBe(before)
  await eventually('the app-proxy answers', async () =>
    (await scene.call('prod', '/app-proxy/api/healthz')).status === 200 ? true : undefined,
  )
})

/** Deletes a pod of each part while callers call: another pod goes on, and no call is refused. */
async function handOver(): Promise<void> {
  const podsOf = async (part: string): Promise<string[]> =>
    (await kubectl('get', 'pods', '--selector', `app.kubernetes.io/name=${part}`, '--output', 'name')).split('\n')
  const online = async (): Promise<string> => {
    const asked = (await podsOf('codefresh-tunnel-client')).map(async (name) => {
      const metrics = await kubectl('exec', name, '--container', 'tunnel-client', '--', 'node', '--eval', ONLINE).catch(() => '')
      return metrics.includes('windlass_tunnel_online 1') ? [name] : []
    })
    return (await Promise.all(asked)).flat().join(' ')
  }
  const first = await online()
  expect(first).toMatch(/^pod\/\S+$/)
  const over = new AbortController()
  const answers: number[] = []
  const calling = (async () => {
    // Not more calls than the server takes from one address.
    for await (const _ of setInterval(25)) {
      if (over.signal.aborted) return
      answers.push((await scene.call('prod', LIST, { authorization: scene.apiKey })).status)
    }
  })()
  await kubectl('delete', first, '--wait=false')
  const next = await eventually('another pod is connected', async () => {
    const name = await online()
    return name !== '' && name !== first ? name : undefined
  })
  expect(next).toMatch(/^pod\/\S+$/)
  // The pod of before the upgrade may still be there, and would be gone by itself.
  const proxy = await eventually('the two app-proxies of the upgrade are left', async () => {
    const [one, ...others] = await podsOf('cap-app-proxy')
    return others.length === 1 ? one : undefined
  })
  await kubectl('delete', proxy, '--timeout=90s')
  over.abort()
  await calling
  expect([new Set(answers), answers.length > 10]).toEqual([new Set([200]), true])
}
/** Program that prints the metrics of the tunnel client. */
const ONLINE = `fetch('http://127.0.0.1:8082/metrics').then((answer) => answer.text()).then(console.log)`

test('an uninstall removes the runtime from the server and then from the cluster, without leftovers, and can be repeated (O078)', async () => {
  const refused = await gitops('uninstall', '--platform-only')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('The GitOps runtime "prod" is connected (online).')])
  const unsure = await gitops('uninstall')
  expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining('Add --yes')])
  await scene.cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'git-integration-default', namespace: NAMESPACE, labels: { 'io.codefresh.integration-type': 'git' } },
  })
  const removed = await succeed(gitops('uninstall', '--yes'))
  expect(removed.stdout).toBe('gitops-runtime/prod deleted\nrelease/windlass-gitops-runtime deleted\n')
  expect((await scene.client.tunnels.list()).items).toEqual([])
  expect(await scene.call('prod', '/app-proxy/api/healthz')).toMatchObject({ status: 404 })
  await eventually('the pods are gone', async () =>
    (await kubectl('get', 'pods', '--output', 'name')) === '' ? true : undefined,
  )
  const kinds =
    'configmaps,secrets,services,deployments,statefulsets,networkpolicies,roles,rolebindings,serviceaccounts,jobs,replicasets'
  const left = (await kubectl('get', kinds, '--output', 'name')).split('\n')
  expect(left.toSorted()).toEqual(['configmap/kube-root-ca.crt', 'serviceaccount/default'])
  const again = await succeed(gitops('uninstall', '--yes'))
  expect(again.stdout).toBe('gitops-runtime/prod was already deleted\nrelease/windlass-gitops-runtime was already deleted\n')
})

test('with --ingress-host the runtime has an Ingress and no tunnel, and is removed after its release (O078)', async () => {
  const at = ['--kube-namespace', OTHER]
  const host = ['--ingress-host', 'gitops.example.com', '--ingress-class', 'traefik']
  const skip = ['--set-value', 'global.runtime.ingress.skipValidation=true']
  const installed = await scene.windlass('gitops', 'install', 'edge', ...at, '--values', values, ...host, ...skip)
  expect(installed.stdout, installed.stderr).toBe('gitops-runtime/edge installed\n')
  expect(installed.stderr).toContain('Callers reach it at https://gitops.example.com.\n')
  const other = (...args: string[]): Promise<string> => scene.cluster.kubectl('--namespace', OTHER, ...args)
  expect(await other('get', 'deployments,ingresses', '--output', 'name')).toBe(
    'deployment.apps/cap-app-proxy\ndeployment.apps/internal-router\ningress.networking.k8s.io/internal-router',
  )
  const path = 'jsonpath={.spec.ingressClassName} {.spec.rules[*].host} {.spec.rules[*].http.paths[*].path}'
  expect(await other('get', 'ingress', 'internal-router', '--output', path)).toBe(
    'traefik gitops.example.com /app-proxy /webhooks',
  )
  expect(await scene.client.tunnels.get('edge')).toMatchObject({ status: 'offline' })
  // The other way round: without an API key in the cluster, Helm leaves the runtime at the server, and its token in the namespace.
  await scene.helm.run('uninstall', 'windlass-gitops-runtime', '--namespace', OTHER, '--wait', '--timeout', '180s')
  expect(await other('get', 'secrets', '--output', 'name')).toBe('secret/codefresh-token')
  const removed = await scene.windlass('gitops', 'uninstall', 'edge', ...at, '--yes')
  expect(removed.stdout, removed.stderr).toBe(
    'gitops-runtime/edge deleted\nrelease/windlass-gitops-runtime was already deleted\n',
  )
  expect(await other('get', 'secrets,ingresses,roles', '--output', 'name')).toBe('')
})
