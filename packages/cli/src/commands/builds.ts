/** Builds that exist already: their logs, their ends. */
import { BUILD_STATUSES } from '@windlass/plan'
import { command, flag, integer, oneOf, text, texts } from '../command.ts'

const ONE = [{ name: '<build>', summary: 'Id of a build' }]
const MANY = [{ name: '<build...>', summary: 'Ids of builds' }]

export const buildCommands = [
  command('logs', {
    summary: 'Print the log of a build',
    about: 'With -f the log is followed to its end, over restarts of the server, and the exit code is that of the build.',
    arguments: ONE,
    options: {
      follow: flag('-f, --follow', 'Go on until the build has ended'),
      step: text('--step <name>', 'Only the lines of this step'),
      tail: integer('--tail <lines>', 'Only the last lines'),
      timestamps: flag('--timestamps', 'Put the time in front of each line'),
    },
    examples: ['windlass logs -f 65f0c1d2a3b4c5d6e7f80912', 'windlass logs 65f0c1d2a3b4c5d6e7f80912 --step unit_tests --tail 50'],
    run: async (invocation) => (await import('../actions/logs.ts')).printLogs(invocation),
  }),
  command('wait', {
    summary: 'Wait until builds have ended',
    about:
      'The exit code is that of the build that ended worst. With --status it is 0 once every build has that status, and 1 when one of them has ' +
      'ended otherwise.',
    arguments: MANY,
    options: {
      status: oneOf('-s, --status <status>', 'Wait for this status instead of the end', BUILD_STATUSES),
      timeout: integer('--timeout <seconds>', 'Give up after this long'),
      output: oneOf('-o, --output <format>', 'Print the final records on standard output', ['json']),
    },
    run: async (invocation) => (await import('../actions/wait.ts')).waitForBuilds(invocation),
  }),
  command('terminate', {
    summary: 'Stop builds',
    about: 'Running steps get TERM, and KILL after a grace; the build is terminated only when they are gone.',
    arguments: MANY,
    options: { wait: flag('--wait', 'Wait until they have ended') },
    run: async (invocation) => (await import('../actions/terminate.ts')).terminateBuilds(invocation),
  }),
  command('restart', {
    summary: 'Run a build again: the same document, variables and commit',
    about:
      'From the beginning, or from where it failed: then results, images and exported variables of the steps before are taken over, on the ' +
      'same disk where it still is.',
    examples: [
      'windlass restart 65f0c1d2a3b4c5d6e7f80912 --from-failed',
      'windlass restart 65f0c1d2a3b4c5d6e7f80912 --from deploy -v TARGET=staging',
    ],
    arguments: ONE,
    options: {
      fromFailed: flag('--from-failed', 'Begin at the steps that failed, and keep what the others gave'),
      from: text('--from <step>', 'Begin at this step, and keep what the steps before it gave'),
      variable: texts('-v, --variable <name=value>', 'Set a variable otherwise; may be given many times'),
      secret: texts('-S, --secret <name=value>', 'Set a masked variable otherwise; NAME alone takes it from the environment'),
      debug: flag('--debug', 'Stop at the breakpoints of the document'),
      detach: flag('-d, --detach', 'Print the id of the new build and do not wait for it'),
      output: oneOf('-o, --output <format>', 'Print the final record on standard output, the log on standard error', ['json']),
      timestamps: flag('--timestamps', 'Put the time in front of each line'),
    },
    run: async (invocation) => (await import('../actions/run-on-server.ts')).restartBuild(invocation),
  }),
]
