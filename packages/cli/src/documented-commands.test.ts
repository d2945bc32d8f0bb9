/** Every command line in the documentation of the Codefresh Runner is accepted, in every documented spelling. */
import { expect, test } from 'vitest'
import { readSettings, takeGlobalOptions } from './config.ts'
import { parseCommandLine, type ParsedLine } from './program.ts'
import { recordOutput } from '../test/recorded-output.ts'
import { readInstallValues } from './runner/values/install-values.ts'

const out = recordOutput()

function parse(line: string, env: Record<string, string> = {}): Promise<ParsedLine> {
  const { argv, globals } = takeGlobalOptions(line.split(' '))
  return parseCommandLine(argv, { out, settings: readSettings({ HOME: '/nowhere', ...env }, globals) })
}

interface Documented {
  readonly id: string
  readonly line: string
  readonly name: string
  readonly args?: readonly string[]
  readonly options?: Readonly<Record<string, unknown>>
}

const LINES: readonly Documented[] = [
  { id: 'C1', line: 'auth create-context --api-key K', name: 'auth create-context', options: { apiKey: 'K' } },
  { id: 'C2', line: 'runner init --token T', name: 'runner init', options: { token: 'T', dryRun: false } },
  { id: 'C2', line: 'runner init --token T --dry-run', name: 'runner init', options: { dryRun: true } },
  { id: 'C3', line: 'runner init --values values.yaml', name: 'runner init', options: { values: 'values.yaml' } },
  {
    id: 'C4',
    line: 'runner init --generate-helm-values-file --skip-cluster-test',
    name: 'runner init',
    options: { generateHelmValuesFile: './generated_values.yaml', skipClusterTest: true },
  },
  {
    id: 'C4',
    line: 'runner init --generate-helm-values-file v.yaml',
    name: 'runner init',
    options: { generateHelmValuesFile: 'v.yaml' },
  },
  {
    id: 'C6',
    line: 'runner execute-test-pipeline --runtime-name R',
    name: 'runner execute-test-pipeline',
    options: { runtimeName: 'R' },
  },
  { id: 'C7', line: 'runner info', name: 'runner info' },
  { id: 'C7', line: 'runner delete', name: 'runner delete' },
  {
    id: 'C7',
    line: 'runner delete --name A --url https://w.example.com --kube-context-name C --kube-namespace N --force',
    name: 'runner delete',
  },
  { id: 'C8', line: 'get runtime-environments', name: 'get runtimes' },
  { id: 'C8', line: 'get re', name: 'get runtimes' },
  { id: 'C8', line: 'get re a/b -o yaml', name: 'get runtimes', args: ['a/b'], options: { output: 'yaml' } },
  { id: 'C8', line: 'get re a/b -o json', name: 'get runtimes', options: { output: 'json' } },
  { id: 'C8', line: 'get re --limit=100 a/b -o yaml', name: 'get runtimes', args: ['a/b'], options: { limit: 100 } },
  { id: 'C9', line: 'patch re a/b -f re.yaml', name: 'patch runtimes', args: ['a/b'], options: { file: 're.yaml' } },
  { id: 'C9', line: 'patch re -f re.yaml', name: 'patch runtimes', args: [] },
  { id: 'C9', line: 'patch runtime-environment a/b --filename re.yaml', name: 'patch runtimes', options: { file: 're.yaml' } },
  { id: 'C9', line: 'patch re a/b --default', name: 'patch runtimes', args: ['a/b'], options: { default: true } },
  { id: 'C9', line: 'patch re --default a/b', name: 'patch runtimes', args: ['a/b'], options: { default: true } },
  {
    id: 'C10',
    line: 'runner init --values v.yaml --exec-demo-pipeline false --skip-cluster-integration true',
    name: 'runner init',
    options: { execDemoPipeline: false, skipClusterIntegration: true },
  },
  {
    id: 'C11',
    line: 'runner init --set-value=Storage.LocalVolumeParentDir=/mnt/disks/ssd0/codefresh-volumes --build-node-selector=cloud.google.com/gke-local-ssd=true',
    name: 'runner init',
    options: {
      setValue: ['Storage.LocalVolumeParentDir=/mnt/disks/ssd0/codefresh-volumes'],
      buildNodeSelector: 'cloud.google.com/gke-local-ssd=true',
    },
  },
  {
    id: 'C12',
    line: 'runner init --set-value=Storage.Backend=gcedisk --set-value=Storage.AvailabilityZone=us-central1-a --kube-node-selector=z=a --build-node-selector=z=a --set-file=Storage.GoogleServiceAccount=/k.json',
    name: 'runner init',
    options: { setFile: ['Storage.GoogleServiceAccount=/k.json'], kubeNodeSelector: 'z=a' },
  },
  {
    id: 'C13',
    line: 'runner init --name N --kube-node-selector=topology.kubernetes.io/zone=z --build-node-selector=topology.kubernetes.io/zone=z --kube-namespace cf --kube-context-name C --set-value Storage.VolumeProvisioner.NodeSelector=node-type=addons --set-value=Storage.Backend=ebs --set-value=Storage.AvailabilityZone=z --set-value=Storage.Encrypted=true --set-value=Storage.KmsKeyId=ID',
    name: 'runner init',
    options: {
      setValue: [
        'Storage.VolumeProvisioner.NodeSelector=node-type=addons',
        'Storage.Backend=ebs',
        'Storage.AvailabilityZone=z',
        'Storage.Encrypted=true',
        'Storage.KmsKeyId=ID',
      ],
    },
  },
  {
    id: 'C14',
    line: 'runner init --set-value KubernetesHost=https://kubernetes.default.svc.cluster.local --skip-cluster-integration',
    name: 'runner init',
    options: { setValue: ['KubernetesHost=https://kubernetes.default.svc.cluster.local'], skipClusterIntegration: true },
  },
  {
    id: 'C15',
    line: 'runner init --set-value Storage.Backend=azuredisk --set Storage.VolumeProvisioner.MountAzureJson=true',
    name: 'runner init',
    options: { setValue: ['Storage.Backend=azuredisk', 'Storage.VolumeProvisioner.MountAzureJson=true'] },
  },
  {
    id: 'C16',
    line: 'runner init --app-proxy --app-proxy-host=h',
    name: 'runner init',
    options: { appProxy: true, appProxyHost: 'h' },
  },
  { id: 'C16', line: 'install app-proxy --host=h', name: 'install app-proxy', options: { host: 'h' } },
  { id: 'C16', line: 'install app-proxy --values F', name: 'install app-proxy', options: { values: 'F' } },
  {
    id: 'C16',
    line: 'install app-proxy --host h --ingress-class c --runtime-environment r --docker-registry d --set-value a=b --bypass-download',
    name: 'install app-proxy',
    options: { host: 'h', ingressClass: 'c', runtimeEnvironment: 'r', dockerRegistry: 'd', setValue: ['a=b'] },
  },
  { id: 'C16', line: 'upgrade app-proxy', name: 'upgrade app-proxy' },
  { id: 'C16', line: 'uninstall app-proxy --force', name: 'uninstall app-proxy', options: { force: true } },
  { id: 'C17', line: 'create agent N', name: 'create agent', args: ['N'] },
  {
    id: 'C17',
    line: 'install agent --token T --kube-namespace NS',
    name: 'install agent',
    options: { token: 'T', kubeNamespace: 'NS' },
  },
  { id: 'C17', line: 'get agents', name: 'get agents' },
  {
    id: 'C18',
    line: 'install runtime --runtime-kube-namespace NS',
    name: 'install runtime',
    options: { runtimeKubeNamespace: 'NS' },
  },
  { id: 'C18', line: 'install runtime --kube-namespace NS', name: 'install runtime', options: { kubeNamespace: 'NS' } },
  {
    id: 'C19',
    line: 'attach runtime --agent-name A --agent-kube-namespace N1 --runtime-name R --runtime-kube-namespace N2 --restart-agent',
    name: 'attach runtime',
    options: { restartAgent: true, runtimeKubeNamespace: 'N2' },
  },
  {
    id: 'C19',
    line: 'attach runtime --agent-name A --agent-kube-namespace N1 --runtime-name R --kube-namespace N2',
    name: 'attach runtime',
  },
  {
    id: 'C20',
    line: 'install agent --agent-kube-namespace NS --install-runtime',
    name: 'install agent',
    options: { installRuntime: true },
  },
  { id: 'C20', line: 'install agent --kube-namespace NS --install-runtime', name: 'install agent' },
  { id: 'C21', line: 'runner init --install-monitor', name: 'runner init', options: { installMonitor: true } },
  {
    id: 'C21',
    line: 'install monitor --kube-context-name C --kube-namespace NS --cluster-id N --token T',
    name: 'install monitor',
    options: { clusterId: 'N' },
  },
  {
    id: 'C24',
    line: 'venona install --kube-namespace NS --verbose --kube-config-path P --cfconfig F',
    name: 'venona install',
    options: { kubeNamespace: 'NS', kubeConfigPath: 'P' },
  },
  { id: 'C24', line: 'venona status --verbose', name: 'venona status' },
  { id: 'C24', line: 'venona upgrade R', name: 'venona upgrade', args: ['R'] },
  { id: 'C24', line: 'venona delete R', name: 'venona delete', args: ['R'] },
  {
    id: 'C25',
    line: 'venona install --set-value=Storage.Backend=gcedisk --set-value=Storage.AvailabilityZone=z --set-file=Storage.GoogleServiceAccount=/k',
    name: 'venona install',
    options: { setValue: ['Storage.Backend=gcedisk', 'Storage.AvailabilityZone=z'] },
  },
  {
    id: 'C26',
    line: 'create cluster --kube-context C --namespace NS --serviceaccount SA --behind-firewall',
    name: 'create cluster',
    options: { kubeContext: 'C', namespace: 'NS', serviceaccount: 'SA', behindFirewall: true },
  },
  {
    id: 'C26',
    line: 'create cluster -kc C -ns NS -sa SA --behind-firewall',
    name: 'create cluster',
    options: { namespace: 'NS', serviceaccount: 'SA' },
  },
  { id: 'C27', line: 'get pipelines', name: 'get', args: ['pipelines'] },
]

test.each(LINES)('$id: $line', async ({ line, name, args, options }) => {
  const parsed = await parse(line)
  expect(parsed.name).toBe(name)
  if (args !== undefined) expect(parsed.args).toEqual(args)
  if (options !== undefined) expect(parsed.options).toMatchObject(options)
})

test('a command of four words takes its own options and arguments', async () => {
  const words = 'create context secret-store kubernetes-runtime'
  const { name, args, options } = await parse(`${words} team --runtime=* --resource-type configmap --resource-name settings`)
  expect([name, args]).toEqual([words, ['team']])
  expect(options).toEqual({ runtime: '*', resourceType: 'configmap', resourceName: 'settings' })
})

test('`--flag value` and `--flag=value` are equivalent for every documented option', async () => {
  for (const { line } of LINES) {
    const spaced = line.replaceAll(/(--[a-z-]+)=(\S+)/g, '$1 $2')
    expect(await parse(spaced)).toEqual(await parse(line))
  }
})

test('a boolean option accepts true and false in any spelling, and no other word as its value (R037, R019)', async () => {
  for (const word of ['true', 'TRUE', 'yes', '1'])
    expect((await parse(`runner init --install-monitor ${word}`)).options['installMonitor']).toBe(true)
  for (const word of ['false', 'no', 'off'])
    expect((await parse(`runner init --install-monitor=${word}`)).options['installMonitor']).toBe(false)
  await expect(parse('runner init --install-monitor=perhaps')).rejects.toThrow('takes true or false')
  expect((await parse('runner init --install-monitor --name x')).options).toMatchObject({ installMonitor: true, name: 'x' })
})

test('--no-proxy takes hosts and does not turn the proxy off (R034)', async () => {
  expect((await parse('runner init --no-proxy a,b')).options['noProxy']).toBe('a,b')
  expect((await parse('runner init')).options['noProxy']).toBeUndefined()
})

test('reads options from CF_ARG_<OPTION>, and the command line takes precedence', async () => {
  const env = { CF_ARG_KUBE_NAMESPACE: 'from-env', CF_ARG_INSTALL_MONITOR: 'false' }
  expect((await parse('runner init', env)).options).toMatchObject({ kubeNamespace: 'from-env', installMonitor: false })
  expect((await parse('runner init --kube-namespace mine', env)).options['kubeNamespace']).toBe('mine')
})

test('CFCONFIG and --cfconfig name the configuration file; CF_URL with CF_API_KEY names a server (R009, R217)', () => {
  expect(readSettings({ CFCONFIG: '/a' }).configFile).toBe('/a')
  const { argv, globals } = takeGlobalOptions(['get', '--cfconfig', '/b', 'agents', '--verbose'])
  expect(argv).toEqual(['get', 'agents'])
  expect(readSettings({ CFCONFIG: '/a' }, globals)).toMatchObject({ configFile: '/b', debug: true })
  expect(readSettings({ CF_URL: 'https://w', CF_API_KEY: 'k' })).toMatchObject({ url: 'https://w', apiKey: 'k' })
  expect(readSettings({ CF_URL: 'https://w' }).url).toBeUndefined()
})

test('merges flags, --set-value and a values file; flags take precedence (R020, R021, R022, R023)', async () => {
  const { options } = await parse(
    'runner init --kube-node-selector=a=b --build-node-selector c=d,e=f --tolerations [{"key":"k"}] --set-value Storage.VolumeProvisioner.NodeSelector=node-type=addons --set NodeSelector=x=y',
  )
  const { installer } = readInstallValues(options)
  expect(installer.NodeSelector).toEqual({ a: 'b' })
  expect(installer.Runtime?.NodeSelector).toEqual({ c: 'd', e: 'f' })
  expect(installer.Tolerations).toEqual([{ key: 'k' }])
  expect(installer.Storage?.VolumeProvisioner?.NodeSelector).toEqual({ 'node-type': 'addons' })
})
