/** Joins the parts of a message into one text: what happened, a quoted error, what to do. Browser-safe. */

/** The last character of a sentence. */
const ENDS = /[.!?…。！？]/u
/** A quotation mark or bracket that may close after it. A full stop inside of backticks belongs to the code. */
const CLOSES = /["'”’»)\]]/u
/** Trailing white space and punctuation that announces a following part. */
const LEADS_ON = /[\s:;,]/u

/**
 * Ends each part with exactly one full stop, unless it already ends a sentence. Skips empty parts. A part of several lines is program output: it is
 * kept as it is, on separate lines. A part that ends with a colon continues in the next one.
 */
export function sentences(...parts: readonly (string | undefined)[]): string {
  const texts = parts.map((part) => part?.trim() ?? '').filter((part) => withoutEnd(part, LEADS_ON) !== '')
  let joined = ''
  let hasLines = false
  for (const [index, text] of texts.entries()) {
    const isBlock = text.includes('\n')
    const leadsOn = text.endsWith(':') && index < texts.length - 1
    const part = leadsOn || isBlock ? text : endSentence(text)
    hasLines ||= isBlock
    joined += (index === 0 ? '' : hasLines ? '\n' : ' ') + part
  }
  return joined
}

function endSentence(text: string): string {
  const whole = withoutEnd(text, LEADS_ON)
  return ENDS.test(withoutEnd(whole, CLOSES).slice(-1)) ? whole : `${whole}.`
}

/** Removes trailing characters in linear time. A pattern with `+$` is quadratic on long runs, and the text comes from steps and registries. */
function withoutEnd(text: string, characters: RegExp): string {
  let end = text.length
  while (end > 0 && characters.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
