/** The `open` command, which opens the page of the server. */
import { command, flag } from '../../command.ts'

export const openCommands = [
  command('open', {
    summary: 'Open the page of the server in a browser, signed in; without a browser, print the link',
    about:
      'The link signs a browser in once, within 15 minutes, with the rights of the current key. Its code is behind the #, which browsers do not send ' +
      'to servers or proxies.',
    arguments: [{ name: '[build]', summary: 'Id of a build to show; without it, the list of builds' }],
    options: { print: flag('--print', 'Only print the link') },
    examples: ['windlass open', 'windlass open 65f0c1d2a3b4c5d6e7f80912', 'windlass open --print'],
    run: async (invocation) => (await import('./action.ts')).openPage(invocation),
  }),
]
