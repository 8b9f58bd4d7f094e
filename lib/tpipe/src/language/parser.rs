//! From a text to a pipeline, without recursion
//!
//! Each open parenthesis is a frame that knows between which junctions its series lies. Within a
//! frame, the junction behind the present section is a new one until the frame closes and the
//! section turns out to be the last: then it becomes the frame's own.

use super::error::{Expected, Fault, SyntaxError};
use super::quantity;
use super::scanner::{MICRO, Scanner, Word};
use crate::language::Pipeline;
use crate::language::syntax::{Buffering, DEPTH, Joint, NAME, Requirement, SOURCE, Span, Stage};

/// An open series.
#[derive(Clone, Copy)]
struct Frame {
    /// Its parenthesis.
    opened: Span,
    /// Junction behind the whole series.
    outlet: u32,
    /// Junction before the present section.
    before: u32,
    /// Junction behind the present section.
    behind: u32,
    /// First stage of the present section.
    first: usize,
}

struct Parser<'t, const N: usize> {
    scanner: Scanner<'t>,
    stages: [Stage<'t>; N],
    /// Junctions while their final numbers are not known.
    ends: [(u32, u32); N],
    len: usize,
    frames: [Frame; DEPTH],
    depth: usize,
    frame: Frame,
    junctions: u32,
    opens: u16,
    joint: Joint,
}

const NOWHERE: Stage<'static> = Stage {
    name: "",
    span: Span { start: 0, end: 0 },
    joint: Joint::Start,
    opens: 0,
    closes: 0,
    from: 0,
    to: 0,
};

/// The way out, until junctions are numbered.
const OUTLET: u32 = 1;

const OUTERMOST: Frame = Frame {
    opened: Span { start: 0, end: 0 },
    outlet: OUTLET,
    before: SOURCE as u32,
    behind: OUTLET + 1,
    first: 0,
};

const fn wrong(span: Span, fault: Fault) -> SyntaxError {
    SyntaxError { span, fault }
}

const fn expected(span: Span, what: Expected) -> SyntaxError {
    wrong(span, Fault::Expected(what))
}

pub(super) fn parse<const N: usize>(text: &str) -> Result<Pipeline<'_, N>, SyntaxError> {
    let mut parser: Parser<'_, N> = Parser {
        scanner: Scanner::new(text),
        stages: [NOWHERE; N],
        ends: [(0, 0); N],
        len: 0,
        frames: [OUTERMOST; DEPTH],
        depth: 0,
        frame: OUTERMOST,
        junctions: OUTLET + 2,
        opens: 0,
        joint: Joint::Start,
    };
    let buffering = parser.buffering();
    parser.series()?;
    let (requirement, requirement_span) = parser.requirement(buffering)?;
    parser.number_junctions();
    Ok(Pipeline {
        buffering,
        requirement,
        requirement_span,
        stages: parser.stages,
        len: parser.len,
    })
}

impl<const N: usize> Parser<'_, N> {
    /// `*` or `[*]`, if it stands there.
    fn buffering(&mut self) -> Buffering {
        for start in [&b"*"[..], b"[*]"] {
            let mut ahead = self.scanner;
            if start.iter().all(|&mark| ahead.next().0 == Word::Mark(mark)) {
                self.scanner = ahead;
                return Buffering::Fifo;
            }
        }
        Buffering::FourSlot
    }

    /// Everything up to a requirement or the end, which stays unread.
    fn series(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.item()?;
            while let (Word::Mark(b')'), span) = self.scanner.peek() {
                self.scanner.next();
                self.close(span)?;
            }
            let (word, span) = self.scanner.peek();
            match word {
                Word::Mark(b'|') => self.next_section(),
                Word::Mark(b',') => self.joint = Joint::Parallel,
                Word::End | Word::Mark(b'[') if self.depth == 0 => {
                    self.merge(self.frame);
                    return Ok(());
                }
                Word::End => return Err(wrong(self.frame.opened, Fault::NeverClosed)),
                _ if self.depth == 0 => return Err(expected(span, Expected::AfterItem)),
                _ => return Err(expected(span, Expected::AfterItemInside)),
            }
            self.scanner.next();
        }
    }

    /// Parentheses and a name.
    fn item(&mut self) -> Result<(), SyntaxError> {
        loop {
            let (word, span) = self.scanner.next();
            match word {
                Word::Mark(b'(') => self.open(span)?,
                Word::Name if !self.scanner.text(span).contains(MICRO) => return self.stage(span),
                _ => return Err(expected(span, Expected::Item)),
            }
        }
    }

    fn open(&mut self, opened: Span) -> Result<(), SyntaxError> {
        let too_deep = wrong(opened, Fault::TooDeep);
        let slot = self.frames.get_mut(self.depth).ok_or(too_deep)?;
        *slot = self.frame;
        self.depth += 1;
        self.opens += 1;
        self.frame = Frame {
            opened,
            outlet: self.frame.behind,
            before: self.frame.before,
            behind: self.junctions,
            first: self.len,
        };
        self.junctions += 1;
        Ok(())
    }

    fn close(&mut self, span: Span) -> Result<(), SyntaxError> {
        let nothing = wrong(span, Fault::NothingToClose);
        let outer = self.depth.checked_sub(1).ok_or(nothing)?;
        self.merge(self.frame);
        self.frame = self.frames[outer];
        self.depth = outer;
        // A parenthesis closes only behind an item.
        self.stages[self.len - 1].closes += 1;
        Ok(())
    }

    fn stage(&mut self, span: Span) -> Result<(), SyntaxError> {
        let name = self.scanner.text(span);
        if name.len() > NAME {
            return Err(wrong(span, Fault::NameTooLong));
        }
        let full = wrong(span, Fault::TooManyStages { room: N });
        let slot = self.stages.get_mut(self.len).ok_or(full)?;
        *slot = Stage {
            name,
            span,
            joint: self.joint,
            opens: self.opens,
            ..NOWHERE
        };
        self.ends[self.len] = (self.frame.before, self.frame.behind);
        self.len += 1;
        self.opens = 0;
        Ok(())
    }

    fn next_section(&mut self) {
        self.joint = Joint::Series;
        self.frame.before = self.frame.behind;
        self.frame.behind = self.junctions;
        self.frame.first = self.len;
        self.junctions += 1;
    }

    /// The last section of a frame ends where the frame does.
    fn merge(&mut self, frame: Frame) {
        let section = self.ends[frame.first..self.len].iter_mut();
        section
            .filter(|(_, to)| *to == frame.behind)
            .for_each(|(_, to)| *to = frame.outlet);
    }

    /// Numbers junctions without gaps.
    fn number_junctions(&mut self) {
        let mut next = SOURCE + 1;
        for index in 0..self.len {
            let (from, to) = self.ends[index];
            let earlier_end = |end: u32| (0..index).find(|&earlier| self.ends[earlier].1 == end);
            self.stages[index].from = match earlier_end(from) {
                Some(earlier) => self.stages[earlier].to,
                None => SOURCE,
            };
            self.stages[index].to = match earlier_end(to) {
                Some(earlier) => self.stages[earlier].to,
                None => next,
            };
            next = next.max(self.stages[index].to + 1);
        }
    }

    fn requirement(
        &mut self,
        buffering: Buffering,
    ) -> Result<(Option<Requirement>, Span), SyntaxError> {
        let (word, opened) = self.scanner.next();
        if word == Word::End {
            return Ok((None, opened));
        }
        let flow = quantity::flow(&mut self.scanner, buffering)?;
        self.mark(b',', Expected::Comma, opened)?;
        let delay_ns = quantity::delay(&mut self.scanner)?;
        let end = self.mark(b']', Expected::Bracket, opened)?.end;
        let start = opened.start;
        match self.scanner.next() {
            (Word::End, _) => Ok((Some(Requirement { flow, delay_ns }), Span { start, end })),
            (_, span) => Err(expected(span, Expected::End)),
        }
    }

    fn mark(&mut self, mark: u8, what: Expected, opened: Span) -> Result<Span, SyntaxError> {
        match self.scanner.next() {
            (Word::Mark(found), span) if found == mark => Ok(span),
            (Word::End, _) => Err(wrong(opened, Fault::NeverClosed)),
            (_, span) => Err(expected(span, what)),
        }
    }
}
