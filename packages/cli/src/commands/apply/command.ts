/** Commands that create and change resources. */
import { ROLE_NAMES } from '../../role-names.ts'
import { withAliases, command, integer, oneOf, text, texts } from '../../command.ts'

const documentOptions = {
  file: texts('-f, --file <file>', 'Document to read; - reads standard input; repeatable'),
  name: text('--name <name>', 'Name of the pipeline, for a document without kind and name'),
  runtime: text('--runtime <name>', 'Runtime environment of the pipeline, for a document without kind and name'),
  message: text('-m, --message <text>', 'Pipelines: why they change, shown with their versions'),
}

export const applyCommands = [
  command('apply', {
    summary: 'Create or update resources from documents',
    about:
      'Documents are YAML; a file may hold several, separated by ---. Each has a kind (pipeline, project, context, runtime, agent, ' +
      'step-type, environment, product, promotion-flow, promotion-policy or promotion-template), metadata.name and a spec. A pipeline without these needs --name.',
    options: documentOptions,
    examples: [
      'windlass apply -f pipeline.yml --name demo/app',
      'windlass apply -f everything.yml',
      'cat runtime.yml | windlass apply -f -',
    ],
    run: async (invocation) => (await import('./action.ts')).applyDocuments(invocation, 'apply'),
  }),
  command('create', {
    summary: 'Create resources from documents; fails if one exists',
    options: documentOptions,
    run: async (invocation) => (await import('./action.ts')).applyDocuments(invocation, 'create'),
  }),
  command('replace', {
    summary: 'Replace resources with documents; fails if one does not exist',
    options: documentOptions,
    run: async (invocation) => (await import('./action.ts')).applyDocuments(invocation, 'replace'),
  }),
  command('create step-type', {
    summary: 'Create a version of a step type from its manifest',
    options: { file: documentOptions.file },
    examples: ['windlass create step-type -f greet.yaml'],
    run: async ({ options, ...rest }) =>
      (await import('./action.ts')).applyDocuments(
        { ...rest, options: { ...options, name: undefined, runtime: undefined, message: undefined } },
        'create',
      ),
  }),
  command('replace step-type', {
    summary: 'Replace a version of a step type; running builds keep the old one',
    options: { file: documentOptions.file },
    run: async ({ options, ...rest }) =>
      (await import('./action.ts')).applyDocuments(
        { ...rest, options: { ...options, name: undefined, runtime: undefined, message: undefined } },
        'replace',
      ),
  }),
  command('create agent', {
    summary: 'Create an agent and print its token, which is shown only once',
    arguments: [{ name: '<name>', summary: 'Name of the agent' }],
    options: {
      runtime: withAliases(texts('-r, --runtime <name>', 'Runtime environment that it serves; repeatable'), '--runtimes', '--re'),
      output: oneOf('-o, --output <format>', 'Output format', ['json']),
    },
    run: async (invocation) => (await import('./create.ts')).createAgent(invocation),
  }),
  command('create context secret-store kubernetes-runtime', {
    summary: 'Create a secret store that is a Secret or ConfigMap in the cluster of the builds',
    about:
      'To allow the agent to read the object, set WINDLASS_AGENT_ALLOWED_SECRETS on the agent. Pipelines read a key as ${{secrets.NAME.key}}.',
    arguments: [{ name: '<name>', summary: 'Name of the context' }],
    options: {
      runtime: text('--runtime <name>', 'Runtime environment whose builds may read it (default: "*", all of them)'),
      resourceType: oneOf('--resource-type <type>', 'Type of the object (default: secret)', ['secret', 'configmap']),
      resourceName: text('--resource-name <name>', 'Name of the Secret or ConfigMap (default: the name of the context)'),
    },
    examples: ['windlass create context secret-store kubernetes-runtime team --runtime prod/builds --resource-name team-secrets'],
    run: async (invocation) => (await import('./create.ts')).createRuntimeStore(invocation),
  }),
  command('create key', {
    summary: 'Create an API key and print it, which is shown only once',
    arguments: [{ name: '<name>', summary: 'Name of the key' }],
    options: {
      role: oneOf('--role <role>', 'Highest role of the key (default: developer)', [...ROLE_NAMES, 'user']),
      for: text('--for <name>', 'User or service account that the key acts for (default: you)'),
      scope: texts(
        '--scope <scope>',
        'Limit the key to a scope, such as build:write; repeatable (default: all that the role allows)',
      ),
      expiresDays: integer('--expires-days <days>', 'Days until the key is refused (default: it does not expire)'),
      output: oneOf('-o, --output <format>', 'Output format', ['json']),
    },
    run: async (invocation) => (await import('./create.ts')).createKey(invocation),
  }),
]
