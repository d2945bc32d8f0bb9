/** Commands for the own login. */
import { command, flag, oneOf, text } from '../../command.ts'

export const loginCommands = [
  command('login', {
    summary: 'Log in to a server through a browser, or with a key',
    about:
      'Prints an address and a short code. Open the address in any browser, sign in with your name and password, and confirm the code. ' +
      'The command then saves a key that acts for you, and expires after 30 days. With --key-file it saves that key instead.',
    options: {
      url: text('--url <url>', 'Base URL of the server (default: that of the current context; prompted for if there is none)'),
      name: text('--name <name>', 'Name of the context (default: the host of the URL)'),
      keyFile: text('--key-file <file>', 'Log in with the API key in this file; - reads standard input'),
      caFile: text('--ca-file <file>', "PEM file of the server's certificate authority"),
    },
    examples: ['windlass login --url https://windlass.example.com', 'windlass login --key-file key.txt'],
    run: async (invocation) => (await import('./action.ts')).logIn(invocation),
  }),
  command('logout', {
    summary: 'Delete a context, and revoke its key on the server if it comes from a login',
    arguments: [{ name: '[context]', summary: 'Name of a context (default: the current one)' }],
    options: {
      everywhere: flag('--everywhere', 'Also end all your sessions in browsers'),
    },
    run: async (invocation) => (await import('./action.ts')).logOut(invocation),
  }),
  command('whoami', {
    summary: 'Show who the current key acts for, and with which role',
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    run: async (invocation) => (await import('./action.ts')).showMe(invocation),
  }),
  command('set password', {
    summary: 'Change your password, which ends your other sessions',
    about:
      'At a terminal, asks for both passwords. In scripts, standard input has two lines: the current password and the new one. ' +
      'Passwords are never arguments, because other users of the machine can read command lines.',
    options: {},
    run: async (invocation) => (await import('./password.ts')).changePassword(invocation),
  }),
]
