/** Commands for servers and keys. */
import { command, flag, text } from '../../command.ts'

export const authCommands = [
  command('auth login', {
    summary: 'Save a server and a key as a context, and switch to it',
    about:
      'The key is read from --key-file, from WINDLASS_API_KEY, from standard input if that is not a terminal, or from a prompt. ' +
      'It is never an argument, because other users of the machine can read command lines. ' +
      'With --first-admin the bootstrap code is read the same way: from --code-file, from WINDLASS_BOOTSTRAP_CODE, from standard input, or from a prompt. ' +
      'The code returns the same key until the first call with it, so the command can be repeated after a failure.',
    options: {
      url: text('--url <url>', 'Base URL of the server; prompted for if omitted'),
      name: text('--name <name>', 'Name of the context (default: the host of the URL)'),
      keyFile: text('--key-file <file>', 'File with the API key'),
      caFile: text('--ca-file <file>', "PEM file of the server's certificate authority"),
      firstAdmin: flag('--first-admin', 'Create the first admin key of a new server with the bootstrap code from its log'),
      codeFile: text('--code-file <file>', 'With --first-admin: file with the bootstrap code; - reads standard input'),
      noVerify: flag('--no-verify', 'Save without checking the key with the server'),
    },
    examples: [
      'windlass auth login --url https://windlass.example.com',
      'windlass auth login --url http://127.0.0.1:7400 --key-file key.txt',
      'windlass auth login --url https://windlass.example.com --first-admin --code-file /var/lib/windlass/bootstrap.code',
    ],
    run: async (invocation) => (await import('./action.ts')).login(invocation),
  }),
  command('auth create-context', {
    summary: 'Save a server and a key as a context, and switch to it (Codefresh syntax of auth login)',
    arguments: [{ name: '[name]', summary: 'Name of the context (default: default)' }],
    options: {
      apiKey: text(
        '--api-key <key>',
        'API key; - reads standard input; set WINDLASS_API_KEY instead to keep it off the command line',
      ),
      url: text('--url <url>', 'Base URL of the server (default: that of the current context)'),
      caFile: text('--ca-file <file>', "PEM file of the server's certificate authority"),
      noVerify: flag('--no-verify', 'Save without checking the key with the server'),
    },
    run: async (invocation) => (await import('./action.ts')).createContext(invocation),
  }),
  command('auth link', {
    summary: 'Print a link that signs a browser in once, with the rights of the current key',
    about: 'The link is valid for 15 minutes. Its code is behind the #, which browsers do not send to servers or proxies.',
    options: {},
    run: async (invocation) => (await import('./action.ts')).printLink(invocation),
  }),
  command('auth current', {
    summary: 'Show the current server',
    options: {},
    run: async (invocation) => (await import('./action.ts')).showCurrent(invocation),
  }),
  command('auth contexts', {
    summary: 'List the contexts',
    options: {},
    run: async (invocation) => (await import('./action.ts')).listContexts(invocation),
  }),
  command('auth use', {
    summary: 'Switch to another context',
    arguments: [{ name: '<context>', summary: 'Name of a context' }],
    options: {},
    run: async (invocation) => (await import('./action.ts')).chooseContext(invocation),
  }),
  command('auth current-context', {
    summary: 'Alias of auth current',
    options: {},
    run: async (invocation) => (await import('./action.ts')).showCurrent(invocation),
  }),
  command('auth get-contexts', {
    summary: 'Alias of auth contexts',
    options: {},
    run: async (invocation) => (await import('./action.ts')).listContexts(invocation),
  }),
  command('auth use-context', {
    summary: 'Alias of auth use',
    arguments: [{ name: '<context>', summary: 'Name of a context' }],
    options: {},
    run: async (invocation) => (await import('./action.ts')).chooseContext(invocation),
  }),
  command('auth logout', {
    summary: 'Delete a context with its key',
    arguments: [{ name: '[context]', summary: 'Name of a context (default: the current one)' }],
    options: {},
    run: async (invocation) => (await import('./action.ts')).logout(invocation),
  }),
]
