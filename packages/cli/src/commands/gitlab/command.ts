/** The `gitlab` commands: registration of GitLab runners, their configuration file, and local runs of jobs. The flags are those of `gitlab-runner`. */
import { command, flag, integer, oneOf, optionalBoolean, text, texts, withAliases } from '../../command.ts'

const config = text(
  '-c, --config <file>',
  'Configuration file (default: $CONFIG_FILE, /etc/gitlab-runner/config.toml for root, ~/.gitlab-runner/config.toml for others)',
)

/** Which runners of the file a command is about. */
const selection = {
  config,
  name: withAliases(text('-n, --name <name>', 'Only runners with this name'), '--description'),
  url: text('-u, --url <url>', 'Only runners of this GitLab server'),
  token: text('-t, --token <token>', 'Only the runner with this token'),
}

const NEEDS_OLD_TOKEN = '(only with a registration token)'

export const gitlabCommands = [
  command('gitlab register', {
    summary: 'Register a GitLab runner and add it to the configuration file',
    about:
      'With a runner authentication token (glrt-…), which is created in GitLab, the command verifies the token. With a registration token it creates the ' +
      'runner. Settings that are not given come from the template. The variables of the environment that gitlab-runner reads are read as well, such as ' +
      'CI_SERVER_URL, CI_SERVER_TOKEN, REGISTRATION_TOKEN, RUNNER_NAME, KUBERNETES_NAMESPACE and CACHE_TYPE. If the file cannot be written, or you ' +
      'interrupt the command, the registration is undone. `windlass gitlab run` then runs its jobs.',
    options: {
      config,
      url: text('-u, --url <url>', 'URL of the GitLab server'),
      token: text(
        '-t, --token <token>',
        'Runner authentication token; other users of this machine can read it on the command line',
      ),
      tokenFile: text('--token-file <file>', 'File with the token; - reads standard input'),
      registrationToken: text('-r, --registration-token <token>', 'Registration token of older servers'),
      name: withAliases(text('--name <name>', 'Name of the runner (default: the host name)'), '--description'),
      executor: oneOf('--executor <name>', 'Executor (default: kubernetes)', ['kubernetes']),
      templateConfig: text(
        '--template-config <file>',
        'TOML file with one [[runners]], whose values are used unless others are given',
      ),
      nonInteractive: flag('--non-interactive', 'Never ask; fail if a value is missing'),
      leaveRunner: flag('--leave-runner', 'Do not undo the registration if the command fails later'),
      tagList: text('--tag-list <tags>', `Tags, separated by commas ${NEEDS_OLD_TOKEN}`),
      runUntagged: optionalBoolean('--run-untagged', `Run jobs without tags ${NEEDS_OLD_TOKEN}`),
      locked: optionalBoolean('--locked', `Lock the runner to its project ${NEEDS_OLD_TOKEN}`),
      accessLevel: oneOf('--access-level <level>', `Which branches may use it ${NEEDS_OLD_TOKEN}`, [
        'not_protected',
        'ref_protected',
      ]),
      maximumTimeout: integer('--maximum-timeout <seconds>', `Longest time of a job ${NEEDS_OLD_TOKEN}`),
      paused: optionalBoolean('--paused', `Register the runner paused ${NEEDS_OLD_TOKEN}`),
      maintenanceNote: text('--maintenance-note <text>', `Note for administrators ${NEEDS_OLD_TOKEN}`),
      limit: integer('--limit <count>', 'Jobs of this runner at the same time; 0 has no limit'),
      requestConcurrency: integer('--request-concurrency <count>', 'Requests for jobs at the same time'),
      outputLimit: integer('--output-limit <KiB>', 'Longest log of a job'),
      buildsDir: text('--builds-dir <path>', 'Folder of the sources in the pods'),
      cacheDir: text('--cache-dir <path>', 'Folder of the caches in the pods'),
      cloneUrl: text('--clone-url <url>', 'URL that replaces the one of the server for clones'),
      env: texts('--env <NAME=value>', 'Variable of all jobs; repeatable'),
      tlsCaFile: text('--tls-ca-file <file>', 'PEM file of the authority of the server'),
      tlsCertFile: text('--tls-cert-file <file>', 'PEM file of the client certificate'),
      tlsKeyFile: text('--tls-key-file <file>', 'PEM file of the key of the client certificate'),
      kubernetesHost: text(
        '--kubernetes-host <url>',
        'URL of the API of the cluster (default: the cluster of the pod, or the kubeconfig)',
      ),
      kubernetesNamespace: text('--kubernetes-namespace <name>', 'Namespace of the pods of jobs'),
      kubernetesImage: text('--kubernetes-image <image>', 'Image of jobs that name none'),
      kubernetesHelperImage: text('--kubernetes-helper-image <image>', 'Image of the helper'),
      kubernetesServiceAccount: text('--kubernetes-service-account <name>', 'Service account of the pods'),
      kubernetesPullPolicy: texts('--kubernetes-pull-policy <policy>', 'Pull policy of images; repeatable, tried in this order'),
      kubernetesPrivileged: optionalBoolean('--kubernetes-privileged', 'Run all containers privileged, for Docker in Docker'),
      kubernetesCpuLimit: text('--kubernetes-cpu-limit <quantity>', 'CPU limit of the build container'),
      kubernetesCpuRequest: text('--kubernetes-cpu-request <quantity>', 'CPU request of the build container'),
      kubernetesMemoryLimit: text('--kubernetes-memory-limit <quantity>', 'Memory limit of the build container'),
      kubernetesMemoryRequest: text('--kubernetes-memory-request <quantity>', 'Memory request of the build container'),
    },
    examples: [
      'windlass gitlab register --url https://gitlab.example.com --token-file token --kubernetes-namespace jobs',
      'windlass gitlab register --non-interactive --template-config config.template.toml',
    ],
    run: async (invocation) => (await import('./register.ts')).register(invocation),
  }),
  command('gitlab run', {
    summary: 'Run the jobs of the runners of the configuration file, in pods of a cluster',
    about:
      'Asks GitLab for jobs until it is stopped. SIGQUIT drains: no more jobs are asked for, and the command ends when those that run have ended. SIGTERM and ' +
      'SIGINT end the jobs as interrupted; the second one exits at once. SIGHUP reads the configuration again, which also happens within 3 s of a change. ' +
      'SIGUSR2 only ends the requests for jobs. ' +
      'After a crash, a manager of the same runner continues the jobs. ' +
      'With --server-url the jobs are shown in a Windlass server: their names, states and reasons are reported, and never variables, tokens or output. ' +
      'The token is a key that is limited to the scope gitlab-report:write, from --server-token-file, WINDLASS_GITLAB_SERVER_TOKEN_FILE or ' +
      'WINDLASS_GITLAB_SERVER_TOKEN.',
    options: {
      config,
      listenAddress: text('--listen-address <address>', 'Address for metrics and health (default: `listen_address` of the file)'),
      helperImage: text('--helper-image <image>', 'Image of the helper, unless the file names one'),
      serverUrl: text(
        '--server-url <url>',
        'Windlass server that shows the jobs (default: $WINDLASS_GITLAB_SERVER_URL, or none)',
      ),
      serverTokenFile: text(
        '--server-token-file <file>',
        'File with the key for the reports (default: $WINDLASS_GITLAB_SERVER_TOKEN_FILE)',
      ),
      serverCaFile: text(
        '--server-ca-file <file>',
        "PEM file of the server's certificate authority (default: $WINDLASS_GITLAB_SERVER_CA)",
      ),
      vaultUrl: texts(
        '--vault-url <url>',
        'Address of a Vault that jobs may name in `secrets`; repeatable (default: $WINDLASS_GITLAB_VAULT_URLS, or any)',
      ),
      unregister: flag('--unregister', 'Remove all runners of the file from GitLab when the manager has stopped'),
      workingDirectory: text(
        '-d, --working-directory <folder>',
        'Folder for traces that are being sent (default: a temporary one)',
      ),
    },
    examples: [
      'windlass gitlab run',
      'windlass gitlab run --config config.toml --listen-address :9252',
      'windlass gitlab run --server-url https://windlass.example.com --server-token-file key',
    ],
    run: async (invocation) => (await import('./run.ts')).run(invocation),
  }),
  command('gitlab exec', {
    summary: 'Run one job of a .gitlab-ci.yml on the Docker of this machine',
    about:
      'Runs the job with the working tree as it is, with uncommitted changes and without ignored files. The tree is copied, so the job changes no file of it; ' +
      '--artifacts copies the artifacts back. Images, services, variables, caches, extends, !reference and local includes work as on GitLab. Each keyword without an ' +
      'effect, such as rules, is a warning with its line. Caches stay in a Docker volume between runs. The exit code is that of the script. Ctrl-C removes everything of the job, and so does ' +
      'the end of a program that reads its output.',
    arguments: [{ name: '[job]', summary: 'Name of the job' }],
    options: {
      file: withAliases(
        text('-f, --file <file>', 'Configuration file (default: .gitlab-ci.yml of the repository)'),
        '--cicd-config-file',
      ),
      list: flag('--list', 'List the jobs instead of running one'),
      output: oneOf('-o, --output <format>', 'With --list: output format', ['json']),
      env: texts('-e, --env <NAME=value>', 'Set a variable, which wins over those of the file; repeatable'),
      envFile: texts('--env-file <file>', 'Set variables from a file (.env, .json or .yaml); repeatable'),
      secret: texts(
        '-S, --secret <NAME=value>',
        'Set a variable that is masked in the log; NAME alone reads it from the environment',
      ),
      image: withAliases(text('--image <image>', 'Image of a job that names none'), '--docker-image'),
      artifacts: text('--artifacts <folder>', 'Copy the artifacts of the job to this folder'),
      resetCache: flag('--reset-cache', 'Remove the caches of earlier runs first'),
      privileged: withAliases(
        flag('--privileged', 'Give the job and its services all rights on the machine of Docker, for Docker in Docker'),
        '--docker-privileged',
      ),
      helperImage: text('--helper-image <image>', 'Image of the helper'),
    },
    examples: [
      'windlass gitlab exec test',
      'windlass gitlab exec build --env CI_DEBUG_TRACE=true --artifacts out',
      'windlass gitlab exec --list',
    ],
    run: async (invocation) => (await import('./exec.ts')).exec(invocation),
  }),
  command('gitlab drain', {
    summary: 'Let the managers in a cluster run their jobs to the end, and get no more',
    about:
      'For the time before a release is removed: the rights of a manager go with it. The chart windlass-gitlab-runner runs this command before its objects ' +
      'are deleted. A manager asks for jobs again when its pod is replaced. A manager that does not answer may have jobs, so the command fails then.',
    options: {
      namespace: text('--namespace <name>', 'Namespace of the managers (default: that of the pod or the kubeconfig)'),
      selector: text('-l, --selector <labels>', 'Labels of the pods of the managers'),
      port: integer('--port <port>', 'Port of the metrics of the managers (default: 9252)'),
    },
    examples: ['windlass gitlab drain --namespace ci --selector release=gitlab-runner'],
    run: async (invocation) => (await import('./drain.ts')).drain(invocation),
  }),
  command('gitlab unregister', {
    summary: 'Remove runners from GitLab and from the configuration file',
    about:
      'For a runner with an authentication token only this manager is removed; the runner stays in GitLab, because other managers may use it.',
    options: { ...selection, allRunners: flag('--all-runners', 'All runners of the file') },
    examples: ['windlass gitlab unregister --name shop', 'windlass gitlab unregister --all-runners'],
    run: async (invocation) => (await import('./manage.ts')).unregister(invocation),
  }),
  command('gitlab verify', {
    summary: 'Check that GitLab knows the runners of the configuration file',
    about: 'The exit code is 1 if a runner is not valid. A server that does not answer proves nothing about its runners.',
    options: { ...selection, delete: flag('--delete', 'Remove runners that are not valid from the file') },
    examples: ['windlass gitlab verify', 'windlass gitlab verify --delete'],
    run: async (invocation) => (await import('./manage.ts')).verify(invocation),
  }),
  command('gitlab list', {
    summary: 'List the runners of the configuration file',
    options: { config, output: oneOf('-o, --output <format>', 'Output format', ['json', 'yaml']) },
    examples: ['windlass gitlab list'],
    run: async (invocation) => (await import('./manage.ts')).list(invocation),
  }),
  command('gitlab reset-token', {
    summary: 'Replace the tokens of runners',
    about: 'GitLab creates a new token, and the old one stops working. The new token is written to the configuration file.',
    options: {
      ...selection,
      allRunners: flag('--all-runners', 'All runners of the file'),
      patFile: text(
        '--pat-file <file>',
        'File with a personal access token, for a runner whose own token is not valid; - reads standard input',
      ),
    },
    examples: ['windlass gitlab reset-token --name shop', 'windlass gitlab reset-token --name shop --pat-file pat'],
    run: async (invocation) => (await import('./manage.ts')).resetToken(invocation),
  }),
  command('gitlab validate', {
    summary: 'Check the configuration file of GitLab runners',
    about:
      'Names each error and each unknown key with its line. The exit code is 1 if there is one. Other warnings do not change the exit code.',
    arguments: [{ name: '[file]', summary: 'Configuration file (default: that of --config)' }],
    options: { config, output: oneOf('-o, --output <format>', 'Output format', ['json']) },
    examples: ['windlass gitlab validate', 'windlass gitlab validate config.toml -o json'],
    run: async (invocation) => (await import('./manage.ts')).validate(invocation),
  }),
]
