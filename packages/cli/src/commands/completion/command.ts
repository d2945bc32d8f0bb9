/** Shell completion. */
import { command } from '../../command.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completionCommands = [
  command('completion', {
    summary: 'Print the completion script of a shell',
    arguments: [{ name: '<shell>', summary: 'bash, zsh or fish', choices: SHELLS }],
    options: {},
    examples: ['source <(windlass completion bash)', 'windlass completion fish > ~/.config/fish/completions/windlass.fish'],
    run: async ({ args, out }) => out.stdout.write((await import('./scripts.ts')).completionScript(args[0] ?? '')),
  }),
]
