/** Making and changing things. */
import { also, command, oneOf, text, texts } from '../command.ts'

const documentOptions = {
  file: texts('-f, --file <file>', 'Document to read; - reads standard input; may be given many times'),
  name: text('--name <name>', 'Name of the pipeline, for a document that does not say its kind and name'),
  runtime: text('--runtime <name>', 'Runtime environment of the pipeline, for such a document'),
}

export const applyCommands = [
  command('apply', {
    summary: 'Make or change what documents describe',
    about:
      'Documents are YAML, several in a file between lines of ---. Each has a kind (pipeline, project, context, runtime, agent or step-type), ' +
      'metadata.name and a spec. A pipeline without these needs --name.',
    options: documentOptions,
    examples: [
      'windlass apply -f pipeline.yml --name demo/app',
      'windlass apply -f everything.yml',
      'cat runtime.yml | windlass apply -f -',
    ],
    run: async (invocation) => (await import('../actions/apply.ts')).applyDocuments(invocation, 'apply'),
  }),
  command('create', {
    summary: 'Make what documents describe; fails for what exists already',
    options: documentOptions,
    run: async (invocation) => (await import('../actions/apply.ts')).applyDocuments(invocation, 'create'),
  }),
  command('replace', {
    summary: 'Change what documents describe; fails for what does not exist',
    options: documentOptions,
    run: async (invocation) => (await import('../actions/apply.ts')).applyDocuments(invocation, 'replace'),
  }),
  command('create step-type', {
    summary: 'Make a version of a step type from its manifest',
    options: { file: documentOptions.file },
    examples: ['windlass create step-type -f greet.yaml'],
    run: async ({ options, ...rest }) =>
      (await import('../actions/apply.ts')).applyDocuments(
        { ...rest, options: { ...options, name: undefined, runtime: undefined } },
        'create',
      ),
  }),
  command('replace step-type', {
    summary: 'Replace a version of a step type; builds that run keep what they have',
    options: { file: documentOptions.file },
    run: async ({ options, ...rest }) =>
      (await import('../actions/apply.ts')).applyDocuments(
        { ...rest, options: { ...options, name: undefined, runtime: undefined } },
        'replace',
      ),
  }),
  command('create agent', {
    summary: 'Make an agent and print its token, once',
    arguments: [{ name: '<name>', summary: 'Name of the agent' }],
    options: {
      runtime: also(
        texts('-r, --runtime <name>', 'Runtime environment that it serves; may be given many times'),
        '--runtimes',
        '--re',
      ),
      output: oneOf('-o, --output <format>', 'How to print', ['json']),
    },
    run: async (invocation) => (await import('../actions/create.ts')).createAgent(invocation),
  }),
  command('create key', {
    summary: 'Make an API key and print it, once',
    arguments: [{ name: '<name>', summary: 'What it is for' }],
    options: {
      role: oneOf('--role <role>', 'What it may do; user when left out', ['admin', 'user', 'viewer']),
      output: oneOf('-o, --output <format>', 'How to print', ['json']),
    },
    run: async (invocation) => (await import('../actions/create.ts')).createKey(invocation),
  }),
]
