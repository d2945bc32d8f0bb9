/**
 * The messages of chats. Slack: blocks and a fallback text for incoming webhooks (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).
 * Teams: an Adaptive Card for the webhook of a workflow (https://adaptivecards.io). Texts of users are sent as plain text, so that they can neither mention
 * people nor contain links.
 */
import type { OutboundCall } from '../../outbound/call.ts'
import type { Notice } from '../notice.ts'

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'windlass' }
/** Slack accepts texts of up to 3000 characters. */
const MAX_TEXT = 3000

export function toSlackCall({ title, about, details, url }: Notice): Pick<OutboundCall, 'headers' | 'body'> {
  const blocks = [
    { type: 'section', text: { type: 'mrkdwn', text: `*<${url}|${escapeSlack(title)}>*` } },
    ...details.map((text) => ({ type: 'section', text: plain(text) })),
    { type: 'context', elements: [plain(about)] },
  ]
  const text = escapeSlack([title, ...details].join('\n')).slice(0, MAX_TEXT)
  return { headers: HEADERS, body: JSON.stringify({ text, blocks, unfurl_links: false, unfurl_media: false }) }
}

function plain(text: string): object {
  return { type: 'plain_text', text: text.slice(0, MAX_TEXT), emoji: false }
}

/** The three characters that Slack reads as markup of links and mentions. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const COLORS: Readonly<Record<Notice['type'], string>> = {
  'build.failed': 'attention',
  'build.recovered': 'good',
  'build.succeeded': 'good',
  'build.terminated': 'warning',
  'build.waiting': 'accent',
  test: 'accent',
}

export function toTeamsCall({ type, title, about, details, url }: Notice): Pick<OutboundCall, 'headers' | 'body'> {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      richText(title, { weight: 'bolder', size: 'medium', color: COLORS[type] }),
      ...details.map((text) => richText(text, {})),
      richText(about, { isSubtle: true, size: 'small' }),
    ],
    actions: [{ type: 'Action.OpenUrl', title: type === 'test' ? 'Open Windlass' : 'Open build', url }],
  }
  const attachments = [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }]
  return { headers: HEADERS, body: JSON.stringify({ type: 'message', attachments }) }
}

/** Text in which a card reads no Markdown. */
function richText(text: string, style: object): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] }
}
