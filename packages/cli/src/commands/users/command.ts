/** Commands for users, service accounts and teams. */
import { INSTALLATION_ROLE_NAMES, ROLE_NAMES } from '../../role-names.ts'
import { command, flag, oneOf, optionalBoolean, text, texts } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format', ['json'])
const role = oneOf('--role <role>', 'Role for the whole installation (default: viewer)', INSTALLATION_ROLE_NAMES)
const teamRole = oneOf('--role <role>', 'Role of the members for the whole installation (default: none)', INSTALLATION_ROLE_NAMES)
const member = texts('--member <user>', 'Name of a user or service account; repeatable')
const project = texts('--project <name=role>', 'Role in a project; repeatable')
const pipeline = texts('--pipeline <name=role>', 'Role for a pipeline; repeatable')
const displayName = text('--display-name <name>', 'Name to show')

export const userCommands = [
  command('invite', {
    summary: 'Create a user and print a link with which the user sets a password',
    about:
      'The link is valid once and for seven days. Give it only to the user. With --again it is for a user who exists and has lost the link or the password.',
    arguments: [{ name: '<name>', summary: 'Name of the user, for example an e-mail address in lower case' }],
    options: {
      role,
      project,
      pipeline,
      displayName,
      again: flag('--again', 'Print another link for an existing user; earlier links end'),
      output,
    },
    examples: ['windlass invite mira --role developer', 'windlass invite jo@example.com --role none --project shop=maintainer'],
    run: async (invocation) => (await import('./action.ts')).invite(invocation),
  }),
  command('create user', {
    summary: 'Create a user with a password',
    about:
      'The password is read from --password-file, from standard input if that is not a terminal, or from a prompt. See also `windlass invite`.',
    arguments: [{ name: '<name>', summary: 'Name of the user' }],
    options: {
      role,
      project,
      pipeline,
      displayName,
      passwordFile: text('--password-file <file>', 'File with the password'),
      output,
    },
    run: async (invocation) => (await import('./action.ts')).createUser(invocation),
  }),
  command('create service-account', {
    summary: 'Create a service account, which acts only with API keys',
    arguments: [{ name: '<name>', summary: 'Name of the service account' }],
    options: { role, project, pipeline, displayName, output },
    examples: [
      'windlass create service-account deployer --role none --project shop=developer',
      'windlass create key deployer-1 --for deployer',
    ],
    run: async (invocation) => (await import('./action.ts')).createServiceAccount(invocation),
  }),
  command('set user', {
    summary: 'Change the roles, the state or the sign-in of a user or service account',
    about:
      '--project replaces the roles in all projects, and --pipeline those for all pipelines. A disabled user is signed out, and the keys are refused.',
    arguments: [{ name: '<name>', summary: 'Name of the user' }],
    options: {
      role: oneOf('--role <role>', 'Role for the whole installation', INSTALLATION_ROLE_NAMES),
      project,
      pipeline,
      displayName,
      subject: text('--subject <id>', 'Id of the user at the OpenID Connect provider of the server, as which the user signs in'),
      unlinkSubject: flag('--unlink-subject', 'Unlink the user from the provider'),
      disabled: optionalBoolean('--disabled', 'Disable the user, or enable the user again with --disabled=false'),
      output,
    },
    examples: ['windlass set user mira --role maintainer', 'windlass set user mira --disabled'],
    run: async (invocation) => (await import('./action.ts')).changeUser(invocation),
  }),
  command('set role', {
    summary: 'Give a user a role in a project or for a pipeline, or take it',
    arguments: [
      { name: '<user>', summary: 'Name of the user' },
      { name: '<project>', summary: 'Name of the project; with --pipeline, of the pipeline' },
      { name: '<role>', summary: 'Role in the project or for the pipeline; none takes it', choices: ['none', ...ROLE_NAMES] },
    ],
    options: { pipeline: flag('--pipeline', 'Give the role for one pipeline') },
    examples: ['windlass set role mira shop maintainer', 'windlass set role mira shop/app developer --pipeline'],
    run: async (invocation) => (await import('./action.ts')).setRole(invocation),
  }),
  command('create team', {
    summary: 'Create a team, whose roles its members have in addition to their own',
    arguments: [{ name: '<name>', summary: 'Name of the team' }],
    options: { role: teamRole, project, pipeline, member, output },
    examples: ['windlass create team payments --project shop=developer --member mira --member jo'],
    run: async (invocation) => (await import('./teams.ts')).createTeam(invocation),
  }),
  command('set team', {
    summary: 'Change the roles of a team, and add or remove members',
    about: '--project replaces the roles in all projects, and --pipeline those for all pipelines.',
    arguments: [{ name: '<name>', summary: 'Name of the team' }],
    options: {
      role: oneOf('--role <role>', 'Role of the members for the whole installation', INSTALLATION_ROLE_NAMES),
      project,
      pipeline,
      add: texts('--add <user>', 'Member to add; repeatable'),
      remove: texts('--remove <user>', 'Member to remove; repeatable'),
      output,
    },
    examples: ['windlass set team payments --add max --remove jo'],
    run: async (invocation) => (await import('./teams.ts')).changeTeam(invocation),
  }),
]
