/** Commands that install and manage a Runner in a cluster. */
import { command, flag, grouped, text, optionalBoolean } from '../../command.ts'
import {
  accepted,
  helmOptions,
  helmValuesFile,
  inCluster,
  kubeOptions,
  loginOptions,
  networkOptions,
  valueOptions,
} from './options.ts'

const demoImage = text('--demo-image <image>', 'Image of the demo pipeline (default: alpine of the registry)')

export const runnerCommands = [
  command('runner init', {
    summary: 'Install a Runner into a cluster',
    about:
      'Prompts for missing settings, shows the plan, and runs it step by step. An interrupted installation continues where it stopped ' +
      'when the command runs again. Helm installs the chart windlass-runtime; nothing is downloaded.',
    options: {
      ...loginOptions,
      name: text('--name <name>', 'Name of the agent (default: <context>_<namespace>)'),
      ...kubeOptions,
      ...inCluster,
      ...valueOptions,
      ...networkOptions,
      runtimeName: text('--runtime-name <name>', 'Name of the runtime environment (default: <context>/<namespace>)'),
      yes: flag('-y, --yes', 'Do not prompt'),
      dryRun: flag('--dry-run', 'Write the manifests to ./codefresh_manifests without applying them'),
      generateHelmValuesFile: helmValuesFile,
      skipClusterTest: optionalBoolean('--skip-cluster-test', 'Skip the acceptance tests of the cluster'),
      skipClusterIntegration: optionalBoolean(
        '--skip-cluster-integration',
        'Do not register the cluster for deployments, and install no monitor',
      ),
      setDefaultRuntime: optionalBoolean('--set-default-runtime', 'Make it the default runtime environment'),
      execDemoPipeline: optionalBoolean('--exec-demo-pipeline', 'Run a demo pipeline at the end (default: true)'),
      demoImage,
      installMonitor: optionalBoolean('--install-monitor', 'Install the monitor (default: true)'),
      dockerDaemonAccess: optionalBoolean(
        '--docker-daemon-access',
        'Let steps use the Docker daemon of their build (default: true)',
      ),
      startOver: flag('--start-over', 'Discard the progress of an interrupted installation'),
      ...helmOptions,
      ...accepted,
      ...grouped('App-proxy', {
        appProxy: optionalBoolean('--app-proxy', 'Install the app-proxy, for a Git forge behind the firewall'),
        appProxyHost: text(
          '--app-proxy-host <host>',
          'Host name at which the ingress controller terminates TLS; installs the app-proxy',
        ),
        appProxyIngressClass: text('--app-proxy-ingress-class <name>', 'Ingress class (default: that of the cluster)'),
      }),
    },
    examples: [
      'windlass runner init --token-file key.txt --url https://windlass.example.com',
      'windlass runner init --yes --kube-namespace builds --set-value Storage.Backend=ebs-csi --set-value Storage.AvailabilityZone=eu-west-1a',
      'windlass runner init --values values.yaml --exec-demo-pipeline false',
      'windlass runner init --app-proxy --app-proxy-host proxy.example.com --app-proxy-ingress-class nginx',
      'windlass runner init --dry-run',
    ],
    run: async (invocation) => (await import('../../runner/init/init.ts')).initRunner(invocation),
  }),
  command('runner info', {
    summary: 'Show the agents and their health, and the managers of GitLab runners in their pods',
    about: 'The exit code is 1 if an agent is not healthy.',
    options: {},
    run: async (invocation) => (await import('./info.ts')).runnerInfo(invocation),
  }),
  command('runner execute-test-pipeline', {
    summary: 'Run the demo pipeline on a runtime environment and follow it',
    options: { runtimeName: text('--runtime-name <name>', 'Runtime environment (default: the default one)'), demoImage },
    examples: ['windlass runner execute-test-pipeline --runtime-name prod/builds'],
    run: async (invocation) => (await import('./info.ts')).executeTestPipeline(invocation),
  }),
  command('runner upgrade', {
    summary: 'Upgrade a Runner to the version of this program; running builds continue',
    about:
      'Agent, token and settings are kept. A Runner of version 0.x is replaced; the settings of its pods are saved in ./migration.json and applied again.',
    options: {
      agentName: text('--agent-name <name>', 'Name of the agent, for a Runner of version 0.x'),
      runtimeName: text('--runtime-name <name>', 'Runtime environment'),
      url: text('--url <url>', 'New base URL of the server'),
      installMonitor: optionalBoolean('--install-monitor', 'Also install the monitor'),
      yes: flag('-y, --yes', 'Do not prompt'),
      ...kubeOptions,
      ...helmOptions,
      ...accepted,
    },
    run: async (invocation) => (await import('./upgrade.ts')).upgradeRunner(invocation),
  }),
  command('runner delete', {
    summary: 'Remove a Runner; its namespace, its disks and all pipelines are kept',
    about:
      'Lists everything that is removed, and asks for confirmation. Fails for an agent that serves several runtime environments.',
    options: {
      name: text('--name <name>', 'Name of the agent'),
      yes: flag('-y, --yes', 'Do not prompt'),
      force: flag('-f, --force', 'Like --yes'),
      url: text('--url <url>', 'Base URL of the server'),
      keepClusterIntegration: optionalBoolean('--keep-cluster-integration', 'Keep the cluster registered for deployments'),
      values: text('--values <file>', 'Values with which the Runner was installed; sets context and namespace'),
      ...kubeOptions,
      ...helmOptions,
      ...accepted,
    },
    run: async (invocation) => (await import('./delete.ts')).deleteRunner(invocation),
  }),
  command('runner to-helm', {
    summary: 'Write chart values for a Runner that was installed with the Codefresh CLI, with the same agent',
    about:
      'The agent keeps its id and token in the Secret `runner`. With --remove-old the objects of the old installation are deleted, so that ' +
      'the chart can create them again. Running builds continue.',
    options: {
      file: text('-f, --file <file>', 'File to write (default: ./generated_values.yaml)'),
      removeOld: flag('--remove-old', 'Delete the objects of the old installation'),
      url: text('--url <url>', 'Base URL of the server, if it changes'),
      ...kubeOptions,
      ...inCluster,
    },
    examples: ['windlass runner to-helm --kube-namespace codefresh --remove-old'],
    run: async (invocation) => (await import('./to-helm.ts')).moveToHelm(invocation),
  }),
  command('runner bundle', {
    summary: 'Collect diagnostics for support in an archive, without secrets',
    options: {
      file: text('-f, --file <file>', 'Archive to write (default: ./runner-bundle.tar.gz)'),
      ...kubeOptions,
      ...inCluster,
    },
    run: async (invocation) => (await import('./bundle.ts')).writeBundle(invocation),
  }),
]
