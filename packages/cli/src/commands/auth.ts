/** Servers and keys. */
import { command, flag, text } from '../command.ts'

export const authCommands = [
  command('auth login', {
    summary: 'Save a server and a key as a context, and use it',
    about:
      'The key is read from --key-file, from WINDLASS_API_KEY, from standard input when that is no terminal, or asked for. ' +
      'It is never an argument, because other users of a machine can read command lines.',
    options: {
      url: text('--url <url>', 'Base URL of the server; asked for when left out'),
      name: text('--name <name>', 'Name of the context; the host of the URL when left out'),
      keyFile: text('--key-file <file>', 'File that holds the API key'),
      caFile: text('--ca-file <file>', 'PEM file of the certificate authority of the server'),
      firstAdmin: flag('--first-admin', 'Make the first admin key of a server that has none'),
      noVerify: flag('--no-verify', 'Save without asking the server'),
    },
    examples: [
      'windlass auth login --url https://windlass.example.com',
      'windlass auth login --url http://127.0.0.1:7400 --key-file key.txt',
    ],
    run: async (invocation) => (await import('../actions/auth.ts')).login(invocation),
  }),
  command('auth create-context', {
    summary: "Save a server and a key as a context, and use it: the vendor's words for auth login",
    arguments: [{ name: '[name]', summary: 'Name of the context; default when left out' }],
    options: {
      apiKey: text('--api-key <key>', 'API key; - reads standard input. WINDLASS_API_KEY keeps it off the command line'),
      url: text('--url <url>', 'Base URL of the server; that of the current context when left out'),
      caFile: text('--ca-file <file>', 'PEM file of the certificate authority of the server'),
      noVerify: flag('--no-verify', 'Save without asking the server'),
    },
    run: async (invocation) => (await import('../actions/auth.ts')).createContext(invocation),
  }),
  command('auth current', {
    summary: 'Say which server is in use',
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).showCurrent(invocation),
  }),
  command('auth contexts', {
    summary: 'List the servers this machine knows',
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).listContexts(invocation),
  }),
  command('auth use', {
    summary: 'Choose the server to use from now on',
    arguments: [{ name: '<context>', summary: 'Name of a context' }],
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).chooseContext(invocation),
  }),
  command('auth current-context', {
    summary: 'The same as auth current',
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).showCurrent(invocation),
  }),
  command('auth get-contexts', {
    summary: 'The same as auth contexts',
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).listContexts(invocation),
  }),
  command('auth use-context', {
    summary: 'The same as auth use',
    arguments: [{ name: '<context>', summary: 'Name of a context' }],
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).chooseContext(invocation),
  }),
  command('auth logout', {
    summary: 'Forget a server and its key',
    arguments: [{ name: '[context]', summary: 'Name of a context; the current one when left out' }],
    options: {},
    run: async (invocation) => (await import('../actions/auth.ts')).logout(invocation),
  }),
]
