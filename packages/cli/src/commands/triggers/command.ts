/** Commands for webhooks, triggers and deliveries. */
import { FORGE_NAMES, REGISTRY_NAMES } from '../../role-names.ts'
import { command, flag, integer, oneOf, text, texts } from '../../command.ts'

const json = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])
const DELIVERY = [{ name: '<delivery>', summary: 'Id of a delivery' }]

export const triggerCommands = [
  command('create webhook', {
    summary: 'Create an address that a forge or a registry calls for each event, and print its secret, which is shown only once',
    about:
      'Enter the address and the secret at the forge, with the content type application/json. GitLab calls the secret a token. For Azure ' +
      'DevOps and for registries that send headers, add the header X-Windlass-Token with the secret.',
    arguments: [{ name: '<name>', summary: 'Name of the webhook' }],
    options: {
      forge: oneOf('--forge <name>', 'Forge that calls it', FORGE_NAMES),
      registry: oneOf('--registry <name>', 'Registry of images or charts that calls it', REGISTRY_NAMES),
      context: text('--context <name>', 'Git context that it belongs to; triggers that name a context accept only its webhooks'),
      repo: text('--repo <owner/name>', 'Accept only events of this repository'),
      noPolling: flag('--no-polling', 'Do not compare branches to find pushes that no call reported; needs --context'),
      secretFile: text('--secret-file <file>', 'File with the secret; - reads standard input (default: a random secret)'),
      output: oneOf('-o, --output <format>', 'Output format', ['json']),
    },
    examples: [
      'windlass create webhook github --forge github',
      'windlass create webhook shop --forge gitea --repo acme/shop',
      'windlass create webhook images --registry dockerhub',
    ],
    run: async (invocation) => (await import('./create.ts')).createWebhook(invocation),
  }),
  command('create trigger', {
    summary: 'Create a trigger: events of a repository that start builds of a pipeline',
    about:
      'A filter is a regular expression in slashes, /^release-/i, or a glob, release/*; a leading ! negates a glob. Triggers can also be ' +
      'written in the document of the pipeline, in spec.triggers.',
    arguments: [
      { name: '<pipeline>', summary: 'Name of the pipeline' },
      { name: '<name>', summary: 'Name of the trigger' },
    ],
    options: {
      repo: text('--repo <owner/name>', 'Repository whose events start builds'),
      event: texts('--event <name>', 'Event; repeatable (push, push.heads, push.tags, …; default: push.heads)'),
      context: text('--context <name>', 'Accept only webhooks of this Git context'),
      provider: text('--provider <name>', 'Accept only webhooks of this forge'),
      branch: text('-b, --branch <filter>', 'Build only these branches and tags'),
      targetBranch: text('--target-branch <filter>', 'Build only pull requests to these branches'),
      comment: text('--comment <filter>', 'Build only for comments that match'),
      files: text('--files <glob>', 'Build only if a changed file matches: src/**, {a/**,b/**}, !docs/**'),
      allowForks: flag(
        '--allow-forks',
        'Build pull requests from forks; those of authors who may not write to the repository wait for approval',
      ),
      anyAuthor: flag('--any-author', 'Build for comments of every author'),
      variable: texts('-v, --variable <name=value>', 'Variable of its builds; repeatable'),
      sharedContext: texts('--shared-context <name>', 'Shared configuration of its builds; repeatable'),
      runtime: text('--runtime <name>', 'Runtime environment of its builds'),
      cpu: text('--cpu <quantity>', 'CPU of its builds'),
      memory: text('--memory <quantity>', 'Memory of its builds'),
      noCache: flag('--no-cache', 'Build images without the layer cache'),
      resetVolume: flag('--reset-volume', 'Start with an empty shared volume'),
      concurrency: integer('--concurrency <count>', 'Maximum number of concurrent builds'),
      priority: text('--priority <number>', '-100 to 100; builds with a higher priority start first'),
      disabled: flag('--disabled', 'Create it without starting builds'),
      output: json,
    },
    examples: [
      'windlass create trigger demo/app push --repo acme/app --event push.heads -b main',
      "windlass create trigger demo/app pr --repo acme/app --event pullrequest --target-branch main --files '!docs/**'",
    ],
    run: async (invocation) => (await import('./create.ts')).createTrigger(invocation),
  }),
  command('create cron-trigger', {
    summary: 'Create a cron trigger: builds of a pipeline at certain times',
    about:
      'The expression has the fields minute, hour, day of the month, month and day of the week, or is a word such as @daily.',
    arguments: [
      { name: '<pipeline>', summary: 'Name of the pipeline' },
      { name: '<name>', summary: 'Name of the trigger' },
    ],
    options: {
      expression: text('--expression <cron>', 'When builds start: 30 3 * * MON-FRI'),
      timezone: text('--timezone <zone>', 'Time zone of the expression (default: UTC)'),
      message: text('--message <text>', 'Value of EVENT_MESSAGE (default: the name of the trigger)'),
      gitTrigger: text('--git-trigger <name>', 'Git trigger of the pipeline whose repository the builds get; needs --branch'),
      branch: text('-b, --branch <name>', 'Branch of the builds; needs --git-trigger'),
      variable: texts('-v, --variable <name=value>', 'Variable of its builds; repeatable'),
      sharedContext: texts('--shared-context <name>', 'Shared configuration of its builds; repeatable'),
      runtime: text('--runtime <name>', 'Runtime environment of its builds'),
      disabled: flag('--disabled', 'Create it without starting builds'),
      output: json,
    },
    examples: ["windlass create cron-trigger demo/app nightly --expression '30 3 * * *' --timezone Europe/Berlin"],
    run: async (invocation) => (await import('./create.ts')).createCronTrigger(invocation),
  }),
  command('create event-trigger', {
    summary: 'Create an event trigger: images, charts or ended builds that start builds of a pipeline',
    about:
      'A filter is a regular expression in slashes, /^v1/, or a glob, v1.*; a leading ! negates a glob. Such triggers can also be written in the ' +
      'document of the pipeline, in spec.triggers with the type registry, helm or build.',
    arguments: [
      { name: '<pipeline>', summary: 'Name of the pipeline' },
      { name: '<name>', summary: 'Name of the trigger' },
    ],
    options: {
      image: text('--image <name>', 'Image whose pushes start builds, without host and tag: team/app'),
      tag: text('--tag <filter>', 'Build only for these tags of the image'),
      chart: text('--chart <name>', 'Helm chart whose pushes start builds'),
      chartVersion: text('--chart-version <filter>', 'Build only for these versions of the chart'),
      webhook: text('--webhook <name>', 'Accept only this webhook of a registry'),
      after: text('--after <pipeline>', 'Pipeline whose builds start builds when they end'),
      status: texts('--status <status>', 'Status of these builds; repeatable (success, error, terminated; default: success)'),
      branch: text('-b, --branch <filter>', 'Build only after builds of these branches'),
      variable: texts('-v, --variable <name=value>', 'Variable of its builds; repeatable'),
      sharedContext: texts('--shared-context <name>', 'Shared configuration of its builds; repeatable'),
      runtime: text('--runtime <name>', 'Runtime environment of its builds'),
      priority: text('--priority <number>', '-100 to 100; builds with a higher priority start first'),
      disabled: flag('--disabled', 'Create it without starting builds'),
      output: json,
    },
    examples: [
      "windlass create event-trigger demo/app base --image library/node --tag '24*'",
      'windlass create event-trigger demo/deploy after-app --after demo/app -b main',
    ],
    run: async (invocation) => (await import('./create-event.ts')).createEventTrigger(invocation),
  }),
  command('describe delivery', {
    summary: 'Show what became of a webhook call: the rules of each trigger, and its builds',
    arguments: DELIVERY,
    options: { output: json },
    run: async (invocation) => (await import('./deliveries.ts')).describeDelivery(invocation),
  }),
  command('replay delivery', {
    summary: 'Process the event of a webhook call again, against the triggers as they are now',
    about: 'The event starts builds again, also those that it has already started.',
    arguments: DELIVERY,
    options: { output: json },
    run: async (invocation) => (await import('./deliveries.ts')).replayDelivery(invocation),
  }),
  command('retry message', {
    summary: 'Send a commit status or a notification again, also one that was given up',
    about: 'List them with `windlass get messages`.',
    arguments: [{ name: '<id>', summary: 'Id of the message' }],
    options: { output: json },
    run: async (invocation) => (await import('./messages.ts')).retryMessage(invocation),
  }),
  command('trigger test', {
    summary: 'Show what an event would start, without starting it',
    about:
      'The file is the body of a webhook call, as the forge shows it. The exit code is 0 if the event would start a build, otherwise 1.',
    arguments: [{ name: '<file>', summary: 'File with the body; - reads standard input' }],
    options: {
      forge: oneOf('--forge <name>', 'Forge that sends it (default: github)', FORGE_NAMES),
      registry: oneOf('--registry <name>', 'Registry that sends it', REGISTRY_NAMES),
      event: text('--event <name>', 'Name of the event in the header of the call: push, pull_request, repo:push, …'),
      pipeline: text('--pipeline <name>', 'Show only the triggers of this pipeline'),
      output: json,
    },
    examples: ['windlass trigger test push.json --forge github --event push'],
    run: async (invocation) => (await import('./deliveries.ts')).testTriggers(invocation),
  }),
]
