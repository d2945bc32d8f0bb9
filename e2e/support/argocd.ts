/** A minimal Argo CD on the test cluster: its controller, repository server, API server and Redis in one pod, which needs no DNS, and the controller of Argo Rollouts. */
import { fileURLToPath } from 'node:url'
import { addNamespace, type Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'
import { ensureImages } from './images.ts'
import { runProgram } from './process.ts'

const POD = 'argocd'
/** Definitions whose schemas tests need. They are of the whole cluster: the last one who uses them removes them. */
const DEFINED = ['application', 'appproject', 'rollout']
/** Definitions without schemas: those without which the controller of Argo Rollouts does not start, which have megabytes and no test uses, and those of Argo Events. */
const BARE = ['AnalysisRun', 'AnalysisTemplate', 'ClusterAnalysisTemplate', 'Experiment', 'EventSource', 'Sensor']
const DEFINITIONS = [...DEFINED, ...BARE].map((kind) => `${kind.toLowerCase()}s.argoproj.io`)
const API_PORT = 8080
/** Its API server is below a path, as behind an ingress that other services share. */
const ROOT_PATH = '/argo-cd'
/** Account whose token an app-proxy has, with the rights that its documentation names. */
const ACCOUNT = 'windlass'
/** Account of Kubernetes. */
const ACCOUNT_OF_PODS = 'argocd'
const LABELS = { 'app.kubernetes.io/part-of': 'argocd' }
const POLICY = [
  `p, ${ACCOUNT}, applications, get, */*, allow`,
  `p, ${ACCOUNT}, applications, delete/*, */*, allow`,
  `p, ${ACCOUNT}, applications, action/argoproj.io/Rollout/*, */*, allow`,
  `p, ${ACCOUNT}, applications, update/argoproj.io/Rollout/*, */*, allow`,
  `p, ${ACCOUNT}, logs, get, */*, allow`,
  `p, ${ACCOUNT}, clusters, get, *, allow`,
].join('\n')

const SETTINGS = {
  [`accounts.${ACCOUNT}`]: 'apiKey',
  // For tests that take rights away.
  'resource.respectRBAC': 'normal',
}

/** Where an Argo CD is. Data, so that it can be handed to other processes. */
export interface ArgoCdPlace {
  readonly namespace: string
  /** Base URL of the API server, with its root path. The Service `argocd-server` leads to it too. */
  readonly url: string
  /** Token of an account that may read applications and their logs, delete their objects, and steer rollouts. */
  readonly token: string
}

export interface ArgoCd extends ArgoCdPlace, AsyncDisposable {}

export interface ArgoCdOptions {
  /** Namespace of Argo CD and of its applications. It is created, and deleted at the end. */
  readonly namespace: string
  /** Namespaces into which applications deploy. Argo CD watches nothing else in its cluster, which a busy one would make expensive. */
  readonly targets: readonly string[]
  /** Those of them that may have applications too. */
  readonly runtimes: readonly string[]
  /** The one of them in which a controller brings rollouts. */
  readonly rollouts: string
}

/** Rights of the controller of Argo CD in its namespace if it is installed from `namespace-install.yaml`. */
export const CONTROLLER_RIGHTS = [
  { apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: ['argoproj.io'],
    resources: ['applications', 'applicationsets', 'appprojects'],
    verbs: ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'list'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list', 'watch'] },
]
/** What the API server of Argo CD writes besides: its key, and the password of its administrator. */
const SERVER_RIGHTS = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: ['argocd-secret', 'argocd-initial-admin-secret'],
    verbs: ['update', 'patch'],
  },
]

/** Starts an Argo CD. It compares applications only when they change or are refreshed. */
export async function startArgoCd(cluster: Cluster, options: ArgoCdOptions): Promise<ArgoCd> {
  const { namespace, targets, runtimes } = options
  const [folder, image] = await Promise.all([compiledArgoCd(), loadImage(cluster)])
  await using opening = new AsyncDisposableStack()
  const files = DEFINED.flatMap((name) => ['--filename', `${folder}/crds/${name}-crd.yaml`])
  // As the documentation of Argo CD says: the definitions are too large for the annotation of a client-side apply.
  await cluster.kubectl('apply', '--server-side', '--force-conflicts', ...files)
  await cluster.apply(...BARE.map(toDefinition))
  opening.defer(async () => {
    await cluster.kubectl('delete', 'customresourcedefinitions', ...DEFINITIONS, '--ignore-not-found', '--timeout=60s')
  })
  const conditions = DEFINITIONS.map((name) => `customresourcedefinition/${name}`)
  // The command fails for a definition that has no conditions yet.
  await eventually('Argo CD has its definitions', () =>
    cluster.kubectl('wait', '--for=condition=established', '--timeout=60s', ...conditions).catch(() => undefined),
  )
  for (const name of [namespace, ...targets]) await addNamespace(cluster, name)
  const account = `argocd-${namespace}`
  opening.defer(async () => {
    await cluster.kubectl('delete', 'namespace', namespace, ...targets, '--ignore-not-found', '--wait=false')
    await cluster.kubectl('delete', 'clusterrolebinding,clusterrole', account, '--ignore-not-found')
  })
  opening.defer(async () => {
    for (const place of [namespace, ...runtimes]) await releaseApplications(cluster, place)
  })
  await cluster.apply(...rightsIn(options, account), ...settingsIn(namespace, SETTINGS), ownCluster(options), pod(options, image))
  await untilReady(cluster, namespace)
  const found = await cluster.kube.find({ kind: 'Pod', namespace, name: POD })
  // Kubernetes writes it.
  const status = found?.['status'] as { podIP?: string } | undefined
  const url = `http://${status?.podIP}:${API_PORT}${ROOT_PATH}`
  const password = await cluster.kubectl(
    '--namespace',
    namespace,
    'get',
    'secret',
    'argocd-initial-admin-secret',
    '--output',
    'jsonpath={.data.password}',
  )
  const login = await post(`${url}/api/v1/session`, {
    username: 'admin',
    password: Buffer.from(password, 'base64').toString(),
  })
  const token = await post(`${url}/api/v1/account/${ACCOUNT}/token`, { expiresIn: 0 }, login)
  if (runtimes.length > 0) {
    // Argo CD creates the project.
    const project = ['--namespace', namespace, 'appproject/default']
    await cluster.kubectl('wait', '--for=create', ...project, '--timeout=60s')
    const patch = JSON.stringify({ spec: { sourceNamespaces: runtimes } })
    await cluster.kubectl('patch', ...project, '--type=merge', '--patch', patch)
  }
  const opened = opening.move()
  return { namespace, url, token, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/**
 * Starts an Argo CD whose rights end at its namespace, as `namespace-install.yaml` installs it, beside another one, whose definitions it uses. Its settings lack what a hosted runtime needs. The namespace
 * is created, and deleted at the end.
 */
export async function startArgoCdOfNamespace(cluster: Cluster, namespace: string): Promise<AsyncDisposable> {
  const image = await loadImage(cluster)
  await using opening = new AsyncDisposableStack()
  await addNamespace(cluster, namespace)
  opening.defer(async () => void (await cluster.kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait=false')))
  opening.defer(() => releaseApplications(cluster, namespace))
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name: ACCOUNT_OF_PODS, namespace, labels: LABELS }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: [...CONTROLLER_RIGHTS, ...SERVER_RIGHTS] },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name: metadata.name, namespace }],
    },
    ...settingsIn(namespace, {}),
    pod({ namespace, runtimes: [] }, image),
  )
  await untilReady(cluster, namespace)
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** An application that is left would keep its namespace: no controller removes its finalizer anymore. */
async function releaseApplications({ names, kube }: Cluster, namespace: string): Promise<void> {
  for (const name of await names({ kind: 'Application', namespace }))
    await kube.patch({ kind: 'Application', namespace, name }, { metadata: { finalizers: null } })
}

async function loadImage(cluster: Cluster): Promise<string> {
  const { ARGOCD_IMAGE: image = '' } = await ensureImages('argocd')
  await cluster.load(image)
  return image
}

async function untilReady(cluster: Cluster, namespace: string): Promise<void> {
  try {
    await cluster.kubectl('--namespace', namespace, 'wait', '--for=condition=Ready', `pod/${POD}`, '--timeout=180s')
  } catch (error) {
    throw new Error(`Argo CD does not start:\n${await argoLogs(cluster, namespace)}`, { cause: error })
  }
}

/** Returns the last lines that the parts of an Argo CD have logged, for the message of a failure. */
export function argoLogs({ kubectl }: Pick<Cluster, 'kubectl'>, namespace: string): Promise<string> {
  return kubectl('--namespace', namespace, 'logs', POD, '--all-containers', '--prefix', '--tail=60').catch(String)
}

/** A definition of a kind without a schema. */
function toDefinition(kind: string): object {
  const plural = `${kind.toLowerCase()}s`
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.argoproj.io` },
    spec: {
      group: 'argoproj.io',
      names: { kind, plural },
      scope: kind.startsWith('Cluster') ? 'Cluster' : 'Namespaced',
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  }
}

/** Returns the folder with the program and the definitions. */
export async function compiledArgoCd(): Promise<string> {
  const script = fileURLToPath(new URL('../../scripts/argocd/build', import.meta.url))
  const known = process.env['ARGOCD'] ?? /ARGOCD=(\S+)/.exec(await runProgram(script, []))?.[1]
  if (known === undefined) throw new Error('scripts/argocd/build named no folder')
  return known
}

/** Calls Argo CD and returns the token of its answer. */
async function post(url: string, body: object, token?: string): Promise<string> {
  const headers = { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`Argo CD answered ${answer.status} to ${url}: ${text}`)
  return String((JSON.parse(text) as { token: string }).token)
}

/** Returns the account of its pods, with rights in its namespaces and for the applications of all namespaces. */
function rightsIn({ namespace, targets }: ArgoCdOptions, account: string): object[] {
  const rbac = 'rbac.authorization.k8s.io'
  const subjects = [{ kind: 'ServiceAccount', name: ACCOUNT_OF_PODS, namespace }]
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT_OF_PODS, namespace, labels: LABELS } },
    // Its rights end at its namespaces, as those of an Argo CD that shares its cluster with others.
    ...[namespace, ...targets].map((place) => ({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: account, namespace: place },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects,
    })),
    // With applications in other namespaces it watches those of all of them.
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: account },
      rules: [
        { apiGroups: ['argoproj.io'], resources: ['applications'], verbs: ['get', 'list', 'watch', 'update', 'patch'] },
        { apiGroups: ['argoproj.io'], resources: ['applicationsets'], verbs: ['list', 'watch'] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: account },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: account },
      subjects,
    },
  ]
}

/** Returns its configuration, and the Service of its API server. */
function settingsIn(namespace: string, settings: Readonly<Record<string, string>>): object[] {
  const metadata = (name: string, more: object = {}): object => ({ name, namespace, labels: { ...LABELS, ...more } })
  const configMap = (name: string, data: object): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata(name),
    data,
  })
  return [
    configMap('argocd-cm', { 'timeout.reconciliation': '0s', ...settings }),
    configMap('argocd-rbac-cm', { 'policy.csv': POLICY }),
    // As installations have it, for those who look for the options of the API server.
    configMap('argocd-cmd-params-cm', { 'server.insecure': 'true', 'server.rootpath': ROOT_PATH }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata('argocd-server', { 'app.kubernetes.io/component': 'server' }),
      spec: { selector: LABELS, ports: [{ name: 'http', port: 80, targetPort: API_PORT }] },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata('argocd-secret') },
  ]
}

/** Returns the Secret that limits it to its namespaces in its own cluster. */
function ownCluster({ namespace, targets }: ArgoCdOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'in-cluster', namespace, labels: { ...LABELS, 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: {
      name: 'in-cluster',
      server: 'https://kubernetes.default.svc',
      config: '{}',
      namespaces: [namespace, ...targets].join(','),
    },
  }
}

/** `rollouts`: namespace of the controller of rollouts; without one there is none. */
function pod(
  { namespace, runtimes, rollouts }: Pick<ArgoCdOptions, 'namespace' | 'runtimes'> & { readonly rollouts?: string },
  image: string,
): object {
  const common = ['--loglevel', 'warn']
  const cache = ['--redis', '127.0.0.1:6379']
  const repositories = ['--repo-server', '127.0.0.1:8081']
  const container = (name: string, command: string[], health: object | undefined): object => ({
    name,
    image,
    command,
    env: [
      { name: 'HOME', value: '/tmp' },
      { name: 'ARGOCD_GPG_ENABLED', value: 'false' },
      { name: 'ARGOCD_CONTROLLER_REPLICAS', value: '1' },
      { name: 'ARGOCD_CONTROLLER_SHARD', value: '0' },
      // It compares when an application changes or is refreshed.
      { name: 'ARGOCD_RECONCILIATION_TIMEOUT', value: '0s' },
      { name: 'ARGOCD_APPLICATION_NAMESPACES', value: runtimes.join(',') },
    ],
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    ...(health !== undefined && { readinessProbe: { httpGet: health, periodSeconds: 1, timeoutSeconds: 5 } }),
  })
  const rolloutsIn = (place: string): object =>
    container(
      'rollouts',
      [
        'argo-rollouts',
        ...common,
        '--namespaced',
        '--namespace',
        place,
        '--leader-elect=false',
        '--metricsPort',
        '8090',
        '--healthzPort',
        '8091',
      ],
      { path: '/healthz', port: 8091 },
    )
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: POD, namespace, labels: LABELS },
    spec: {
      serviceAccountName: ACCOUNT_OF_PODS,
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: 'tmp', emptyDir: {} }],
      containers: [
        container('redis', ['redis-server', '--save', '', '--bind', '127.0.0.1'], undefined),
        container('repo-server', ['argocd-repo-server', ...common, ...cache, '--disable-tls', '--client-ca-path', ''], {
          path: '/healthz',
          port: 8084,
        }),
        container(
          'controller',
          [
            'argocd-application-controller',
            ...common,
            ...cache,
            ...repositories,
            '--repo-server-plaintext',
            '--status-processors',
            '2',
          ],
          { path: '/healthz', port: 8082 },
        ),
        container(
          'server',
          [
            'argocd-server',
            ...common,
            ...cache,
            ...repositories,
            '--repo-server-plaintext',
            '--insecure',
            '--rootpath',
            ROOT_PATH,
            '--port',
            String(API_PORT),
          ],
          { path: '/healthz', port: API_PORT },
        ),
        ...(rollouts === undefined ? [] : [rolloutsIn(rollouts)]),
      ],
    },
  }
}
