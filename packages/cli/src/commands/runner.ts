/** The Runner: its installation and its life in a cluster. */
import { command, flag, grouped, text, yesNo } from '../command.ts'
import {
  accepted,
  helmOptions,
  helmValuesFile,
  inCluster,
  kubeOptions,
  loginOptions,
  networkOptions,
  valueOptions,
} from './runner-options.ts'

const demoImage = text('--demo-image <image>', 'Image of the demo pipeline; alpine of the registry when left out')

export const runnerCommands = [
  command('runner init', {
    summary: 'Install a Runner into a cluster',
    about:
      'Asks for what was not given, shows what it would do, and does it step by step. A run that was cut short goes on where it stopped ' +
      'when it is called again. Helm installs the chart windlass-runtime; nothing is downloaded.',
    options: {
      ...loginOptions,
      name: text('--name <name>', 'Name of the agent; <context>_<namespace> when left out'),
      ...kubeOptions,
      ...inCluster,
      ...valueOptions,
      ...networkOptions,
      runtimeName: text('--runtime-name <name>', 'Name of the runtime environment; <context>/<namespace> when left out'),
      yes: flag('-y, --yes', 'Ask nothing'),
      dryRun: flag('--dry-run', 'Write the manifests to ./codefresh_manifests and change nothing'),
      generateHelmValuesFile: helmValuesFile,
      skipClusterTest: yesNo('--skip-cluster-test', 'Leave the tests of the cluster out'),
      skipClusterIntegration: yesNo(
        '--skip-cluster-integration',
        'Do not register the cluster for deployments, and install no monitor',
      ),
      setDefaultRuntime: yesNo('--set-default-runtime', 'Make it the default runtime environment'),
      execDemoPipeline: yesNo('--exec-demo-pipeline', 'Run a demo pipeline at the end; yes when left out'),
      demoImage,
      installMonitor: yesNo('--install-monitor', 'Install the monitor; yes when left out'),
      dockerDaemonAccess: yesNo('--docker-daemon-access', 'Let steps use the Docker daemon of their build; yes when left out'),
      startOver: flag('--start-over', 'Forget an installation that did not come to its end'),
      ...helmOptions,
      ...accepted,
      ...grouped('Not part of this version', {
        appProxy: yesNo('--app-proxy', 'App-Proxy'),
        appProxyHost: text('--app-proxy-host <host>', 'Its host'),
        appProxyIngressClass: text('--app-proxy-ingress-class <name>', 'Its ingress class'),
      }),
    },
    examples: [
      'windlass runner init --token-file key.txt --url https://windlass.example.com',
      'windlass runner init --yes --kube-namespace builds --set-value Storage.Backend=ebs-csi --set-value Storage.AvailabilityZone=eu-west-1a',
      'windlass runner init --values values.yaml --exec-demo-pipeline false',
      'windlass runner init --dry-run',
    ],
    run: async (invocation) => (await import('../runner/init/init.ts')).initRunner(invocation),
  }),
  command('runner info', {
    summary: 'Show the agents and whether they are healthy',
    about: 'Ends with exit code 1 when an agent is not healthy.',
    options: {},
    run: async (invocation) => (await import('../actions/runner-info.ts')).runnerInfo(invocation),
  }),
  command('runner execute-test-pipeline', {
    summary: 'Run the demo pipeline on a runtime environment and follow it',
    options: { runtimeName: text('--runtime-name <name>', 'Runtime environment; the default one when left out'), demoImage },
    examples: ['windlass runner execute-test-pipeline --runtime-name prod/builds'],
    run: async (invocation) => (await import('../actions/runner-info.ts')).executeTestPipeline(invocation),
  }),
  command('runner upgrade', {
    summary: 'Bring a Runner to the version of this program; builds go on',
    about:
      'Agent, token and settings stay. A Runner of the 0.x kind is replaced: what was set on its pods is kept in ./migration.json and set again.',
    options: {
      agentName: text('--agent-name <name>', 'Name of the agent, for a runtime of the 0.x kind'),
      runtimeName: text('--runtime-name <name>', 'Runtime environment'),
      url: text('--url <url>', 'New base URL of the server'),
      installMonitor: yesNo('--install-monitor', 'Install the monitor too'),
      yes: flag('-y, --yes', 'Ask nothing'),
      ...kubeOptions,
      ...helmOptions,
      ...accepted,
    },
    run: async (invocation) => (await import('../actions/runner-upgrade.ts')).upgradeRunner(invocation),
  }),
  command('runner delete', {
    summary: 'Remove a Runner; its namespace, its disks and all pipelines stay',
    about: 'Lists everything that goes, and asks. Refuses an agent that serves several runtime environments.',
    options: {
      name: text('--name <name>', 'Name of the agent'),
      force: flag('-f, --force', 'Ask nothing'),
      url: text('--url <url>', 'Base URL of the server'),
      keepClusterIntegration: yesNo('--keep-cluster-integration', 'Leave the cluster registered for deployments'),
      values: text('--values <file>', 'Values that the Runner was installed with: context and namespace are taken from them'),
      ...kubeOptions,
      ...helmOptions,
      ...accepted,
    },
    run: async (invocation) => (await import('../actions/runner-delete.ts')).deleteRunner(invocation),
  }),
  command('runner to-helm', {
    summary: "Write chart values for a Runner that the vendor's command installed, with the same agent",
    about:
      'The agent keeps its id and token: the Secret `runner` stays where it is. With --remove-old the objects of the old installation go, so that ' +
      'the chart can bring them anew. Builds that run meanwhile go on.',
    options: {
      file: text('-f, --file <file>', 'Values to write; ./generated_values.yaml when left out'),
      removeOld: flag('--remove-old', 'Delete the objects of the old installation'),
      url: text('--url <url>', 'Base URL of the server, in place of the old one'),
      ...kubeOptions,
      ...inCluster,
    },
    examples: ['windlass runner to-helm --kube-namespace codefresh --remove-old'],
    run: async (invocation) => (await import('../actions/runner-to-helm.ts')).moveToHelm(invocation),
  }),
  command('runner bundle', {
    summary: 'Collect what support needs into an archive, without secrets',
    options: {
      file: text('-f, --file <file>', 'Archive to write; ./runner-bundle.tar.gz when left out'),
      ...kubeOptions,
      ...inCluster,
    },
    run: async (invocation) => (await import('../actions/runner-bundle.ts')).writeBundle(invocation),
  }),
]
